/* Finds the program that a command runs and says in one line why it can't be traced.
 *
 * The agent comes in through LD_PRELOAD: so the program must be a 64-bit x86-64 ELF file whose interpreter (the dynamic loader) is
 * glibc's and isn't told to run securely. A script is judged by its interpreter.
 */
#include "recorder/host/program.h"
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>
#include "base/file.h"
#include "elf/file/elf.h"
#include "trigger/trigger.h"

#define SCRIPT_DEPTH_MAX 4 /* the kernel's: a script's interpreter may be a script */

static int look_up(char *path, const char *name, int *exit_status, struct ada_error *error)
{
	const char *list;
	struct stat here;
	bool denied = false;

	if (!*name) {
		*exit_status = ADA_EXIT_NOT_FOUND;
		return ada_error_set(error, ENOENT, "the program's name is empty");
	}
	if (strchr(name, '/'))
		return ada_path(path, "%s", name);
	list = getenv("PATH");
	if (!list)
		list = "/bin:/usr/bin";
	for (const char *start = list, *end;; start = end + 1) {
		struct stat info;
		int status;

		end = strchrnul(start, ':');
		status = end == start ? ada_path(path, "./%s", name) : ada_path(path, "%.*s/%s", (int)(end - start), start, name);
		if (!status && !stat(path, &info) && S_ISREG(info.st_mode)) {
			if (!faccessat(AT_FDCWD, path, X_OK, AT_EACCESS))
				return 0;
			denied = true;
		}
		if (!*end)
			break;
	}
	*exit_status = denied ? ADA_EXIT_NOT_EXECUTABLE : ADA_EXIT_NOT_FOUND;
	if (denied)
		return ada_error_set(error, EACCES, "%s: found in PATH, but not executable", name);
	if (strchr(name, ' '))
		return ada_error_set(error, ENOENT,
				     "%s: no such program in PATH: the program and its arguments are words of their own, as in "
				     "`ada trace ls -l`",
				     name);
	if (!stat(name, &here) && S_ISDIR(here.st_mode))
		return ada_error_set(error, ENOENT, "%s: no such program in PATH, but a directory: `ls %s` lists what is there", name,
				     name);
	if (!stat(name, &here) && S_ISREG(here.st_mode))
		return ada_error_set(error, ENOENT, "%s: no such program in PATH: did you mean ./%s?", name, name);
	return ada_error_set(error, ENOENT, "%s: no such program in PATH: give the path to it, or install it", name);
}

/* No such file: says which one beside it is meant, perhaps. */
static int tell_missing(const char *path, struct ada_error *error)
{
	size_t length = strrchr(path, '/') ? (size_t)(strrchr(path, '/') + 1 - path) : 0;
	char directory[PATH_MAX], name[NAME_MAX + 1], near[256] = "";
	struct ada_nearest *nearest;
	struct dirent *entry;
	DIR *files;

	/* Down to a directory that there is. */
	for (;;) {
		snprintf(directory, sizeof directory, "%.*s.", (int)length, path);
		files = opendir(directory);
		if (files || !length)
			break;
		do
			length--;
		while (length && path[length - 1] != '/');
	}
	snprintf(name, sizeof name, "%.*s", (int)strcspn(path + length, "/"), path + length);
	nearest = ada_nearest_open(name);
	while (files && (entry = readdir(files)))
		ada_nearest_offer(nearest, entry->d_name);
	if (files)
		closedir(files);
	ada_nearest_text(nearest, near, sizeof near);
	ada_nearest_close(nearest);
	if (*near)
		return ada_error_set(error, ENOENT, "%s: no such program: did you mean %s there?", path, near);
	return ada_error_set(error, ENOENT, "%s: no such program: `ls %.*s` lists what is there", path, length ? (int)length : 1,
			     length ? path : ".");
}

static int check_mode(const char *path, int *exit_status, struct ada_error *error)
{
	struct stat info;
	bool setgid;

	if (stat(path, &info)) {
		int code = errno;

		*exit_status = code == ENOENT || code == ENOTDIR ? ADA_EXIT_NOT_FOUND : ADA_EXIT_NOT_EXECUTABLE;
		return code == ENOENT ? tell_missing(path, error) : ada_error_system(error, code, "%s", path);
	}
	if (S_ISDIR(info.st_mode))
		return ada_error_set(error, EISDIR, "%s: is a directory, not a program: `ls %s` lists what is there", path, path);
	if (!S_ISREG(info.st_mode))
		return ada_error_set(error, EACCES, "%s: not a regular file", path);
	if (faccessat(AT_FDCWD, path, X_OK, AT_EACCESS))
		return ada_error_set(error, errno, "%s: not executable (chmod +x it, or name its interpreter)", path);
	setgid = (info.st_mode & S_ISGID) && (info.st_mode & S_IXGRP);
	if ((info.st_mode & S_ISUID) || setgid)
		return ada_error_set(error, EPERM, "%s: is %s: the loader lets nothing into it; trace a copy without that bit", path,
				     setgid && !(info.st_mode & S_ISUID) ? "setgid" : "setuid");
	if (geteuid() && getxattr(path, "security.capability", NULL, 0) > 0)
		return ada_error_set(error, EPERM, "%s: has file capabilities: the loader lets nothing into it; trace a copy without them",
				     path);
	return 0;
}

static bool has_elf_magic(const char *path)
{
	char magic[SELFMAG] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? 0 : read(fd, magic, sizeof magic);

	if (fd >= 0)
		close(fd);
	return got == sizeof magic && !memcmp(magic, ELFMAG, SELFMAG);
}

/* 0: an ELF program that can be traced. 1: a script, its interpreter's name is in `interpreter`. */
static int classify(const char *path, char *interpreter, struct ada_error *error)
{
	struct ada_elf *elf;
	int status;

	if (access(path, R_OK))
		return ada_error_system(error, errno, "%s: can't be read, so not be traced", path);
	if (ada_elf_script(path, interpreter, PATH_MAX))
		return *interpreter ? 1 : ada_error_set(error, ENOEXEC, "%s: a script whose first line names no interpreter", path);
	if (!has_elf_magic(path))
		return ada_error_set(error, ENOEXEC,
				     "%s: neither a program nor a script that begins with #!; name its interpreter: `ada trace sh %s`",
				     path, path);
	status = ada_elf_open(&elf, path, error);
	if (status)
		return status;
	status = ada_elf_check_program(elf, error);
	ada_elf_close(elf);
	return status;
}

int ada_program_find(struct ada_program *program, const char *name, int *exit_status, struct ada_error *error)
{
	char interpreter[PATH_MAX];
	int status;

	*exit_status = ADA_EXIT_NOT_EXECUTABLE;
	status = look_up(program->path, name, exit_status, error);
	if (status)
		return ada_error_system(error, -status, "%s", name);
	strcpy(program->executable, program->path);
	for (int depth = 0;; depth++) {
		status = check_mode(program->executable, exit_status, error);
		if (!status)
			status = classify(program->executable, interpreter, error);
		if (status < 0 && depth) {
			struct ada_error inner = *error;

			error->text[0] = 0;
			*exit_status = ADA_EXIT_NOT_EXECUTABLE;
			return ada_error_set(error, -status, "%s: a script whose interpreter can't be traced: %s", program->path,
					     inner.text);
		}
		if (status <= 0)
			return status;
		if (depth == SCRIPT_DEPTH_MAX)
			return ada_error_set(error, ELOOP, "%s: a script whose interpreters are scripts, too many of them", program->path);
		strcpy(program->executable, interpreter);
	}
}
