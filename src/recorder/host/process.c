#include "recorder/host/process.h"
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include "abi/page.h"
#include "base/file.h"

const char *ada_process_stat(pid_t pid, char *line, size_t bytes)
{
	char path[40];
	FILE *file;
	const char *name_end;

	snprintf(path, sizeof path, "/proc/%d/stat", pid);
	file = fopen(path, "re");
	if (!file)
		return NULL;
	line[fread(line, 1, bytes - 1, file)] = 0;
	fclose(file);
	name_end = strrchr(line, ')'); /* the name before it may hold anything */
	return name_end && name_end[1] == ' ' ? name_end + 2 : NULL;
}

pid_t ada_process_parent(pid_t pid)
{
	char line[1024];
	const char *stat = ada_process_stat(pid, line, sizeof line);
	pid_t parent;

	return stat && sscanf(stat, "%*c %d", &parent) == 1 ? parent : 0;
}

bool ada_process_start_ns(pid_t pid, uint64_t *ns)
{
	enum { BETWEEN = 18 }; /* fields from behind the state to the one before the start */
	char line[1024];
	const char *at = ada_process_stat(pid, line, sizeof line);
	long ticks = sysconf(_SC_CLK_TCK);

	for (int i = 0; at && i <= BETWEEN; i++) {
		at = strchr(at, ' ');
		at = at ? at + 1 : NULL;
	}
	if (!at || ticks <= 0)
		return false;
	*ns = strtoull(at, NULL, 10) * (1000000000ull / (uint64_t)ticks);
	return true;
}

/* The string that AT_EXECFN points at: the program as exec was told it. */
static bool read_execfn(pid_t pid, char *name, size_t bytes)
{
	char path[40], *auxv;
	size_t length;
	bool found = false;

	snprintf(path, sizeof path, "/proc/%d/auxv", pid);
	if (ada_file_read(path, &auxv, &length, NULL))
		return false;
	for (size_t at = 0; at + sizeof(Elf64_auxv_t) <= length && !found; at += sizeof(Elf64_auxv_t)) {
		Elf64_auxv_t entry;
		struct iovec own = { name, bytes }, other = { NULL, bytes };

		memcpy(&entry, auxv + at, sizeof entry);
		if (entry.a_type != AT_EXECFN)
			continue;
		/* It lies at the stack's very end: there is less behind it than there is room. */
		other.iov_base = (void *)entry.a_un.a_val;
		other.iov_len = ADA_PAGE_BYTES - entry.a_un.a_val % ADA_PAGE_BYTES < bytes ?
					ADA_PAGE_BYTES - entry.a_un.a_val % ADA_PAGE_BYTES :
					bytes;
		length = (size_t)process_vm_readv(pid, &own, 1, &other, 1, 0);
		found = (ssize_t)length > 0 && memchr(name, 0, length);
		break;
	}
	free(auxv);
	return found;
}

/* As the process would find it. */
static bool is_its_program(pid_t pid, const char *below, const char *name)
{
	char path[PATH_MAX + 64];
	struct stat named, exe;

	snprintf(path, sizeof path, "/proc/%d/exe", pid);
	if (stat(path, &exe))
		return false;
	snprintf(path, sizeof path, "/proc/%d/%s/%s", pid, below, name);
	return !stat(path, &named) && named.st_dev == exe.st_dev && named.st_ino == exe.st_ino;
}

bool ada_process_started_as(pid_t pid, char path[PATH_MAX])
{
	char name[PATH_MAX], link[40], directory[PATH_MAX];
	const char *at = name;
	ssize_t length;

	if (!read_execfn(pid, name, sizeof name) || !is_its_program(pid, *name == '/' ? "root" : "cwd", name))
		return false;
	if (*name == '/')
		return snprintf(path, PATH_MAX, "%s", name) < PATH_MAX;
	snprintf(link, sizeof link, "/proc/%d/cwd", pid);
	length = readlink(link, directory, sizeof directory - 1);
	if (length <= 0)
		return false;
	directory[length] = 0;
	while (!strncmp(at, "./", 2))
		at += 2 + strspn(at + 2, "/");
	return !ada_path(path, "%s/%s", length > 1 ? directory : "", at);
}

bool ada_process_is_ending(pid_t pid)
{
	char path[40], exe;

	snprintf(path, sizeof path, "/proc/%d/exe", pid);
	return readlink(path, &exe, 1) < 0 && errno == ENOENT;
}
