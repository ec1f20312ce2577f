/* For programs that leave their root: a directory `root` that holds the program and what it needs to be executed there. */
#ifndef ROOT_H
#define ROOT_H
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>
#include "check.h"

static inline void root_copy(const char *from, const char *to)
{
	char path[4096];
	struct stat file;

	snprintf(path, sizeof path, "root%s", to);
	for (char *at = path + 1; (at = strchr(at, '/')); *at++ = '/') {
		*at = 0;
		CHECK(!mkdir(path, 0755) || errno == EEXIST);
	}
	unlink(path);
	int source = open(from, O_RDONLY), target = open(path, O_WRONLY | O_CREAT | O_EXCL, 0755);
	CHECK(source >= 0 && target >= 0 && !fstat(source, &file));
	for (off_t sent = 0; sent < file.st_size;) {
		ssize_t some = sendfile(target, source, NULL, file.st_size - sent); /* less where a stop comes in between (--debug-flip) */

		CHECK(some > 0);
		sent += some;
	}
	close(source);
	close(target);
}

static inline int root_copy_library(struct dl_phdr_info *info, size_t size, void *unused)
{
	if (strstr(info->dlpi_name, "/libc.so.6"))
		root_copy(info->dlpi_name, info->dlpi_name);
	return 0;
}

static inline void root_make(void)
{
	root_copy("/proc/self/exe", "/program");
	root_copy("/lib64/ld-linux-x86-64.so.2", "/lib64/ld-linux-x86-64.so.2");
	dl_iterate_phdr(root_copy_library, NULL);
	CHECK(!mkdir("root/proc", 0755) || errno == EEXIST);
	CHECK(!mkdir("root/old", 0755) || errno == EEXIST);
}
#endif
