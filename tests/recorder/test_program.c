/* Which programs can be traced, and what is said of those that can't. */
#include "../test.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "recorder/host/process.h"
#include "recorder/host/program.h"

static char directory[64];

static int make_directory(void **state)
{
	strcpy(directory, "/tmp/ada-program-XXXXXX");
	return mkdtemp(directory) ? setenv("PATH", "/nowhere:/bin:/usr/bin", 1) : -1;
}

static int remove_directory(void **state)
{
	return rmdir(directory);
}

struct outcome {
	int status, exit_status;
	struct ada_program program;
	struct ada_error error;
};

static struct outcome find(const char *name)
{
	struct outcome outcome = { 0 };

	outcome.status = ada_program_find(&outcome.program, name, &outcome.exit_status, &outcome.error);
	assert_int_equal(outcome.status != 0, *outcome.error.text != 0);
	assert_null(strchr(outcome.error.text, '\n'));
	return outcome;
}

/* Makes a file, looks it up, removes it. */
static struct outcome find_file(const void *bytes, size_t length, mode_t mode)
{
	char path[96];
	FILE *file;
	struct outcome outcome;

	snprintf(path, sizeof path, "%s/file", directory);
	file = fopen(path, "w");
	assert_int_equal(fwrite(bytes, 1, length, file), length);
	fclose(file);
	assert_int_equal(chmod(path, mode), 0);
	outcome = find(path);
	unlink(path);
	return outcome;
}

static void in_path(void **state)
{
	struct outcome outcome = find("env");

	assert_int_equal(outcome.status, 0);
	assert_true(!strcmp(outcome.program.path, "/bin/env") || !strcmp(outcome.program.path, "/usr/bin/env"));
	assert_string_equal(outcome.program.path, outcome.program.executable);
	assert_int_equal(find("no-such-program").exit_status, ADA_EXIT_NOT_FOUND);
	assert_int_equal(find("").exit_status, ADA_EXIT_NOT_FOUND);
}

static void by_name(void **state)
{
	assert_int_equal(find("/bin/env").status, 0);
	assert_int_equal(find("/bin/no-such-program").exit_status, ADA_EXIT_NOT_FOUND);
	assert_int_equal(find("/bin/env/x").exit_status, ADA_EXIT_NOT_FOUND);
	assert_int_equal(find("/tmp").status, -EISDIR);
	assert_int_equal(find("/tmp").exit_status, ADA_EXIT_NOT_EXECUTABLE);
	assert_int_equal(find("/dev/null").exit_status, ADA_EXIT_NOT_EXECUTABLE);
}

static void scripts(void **state)
{
	struct outcome outcome = find_file("#! /bin/sh -e\necho\n", 19, 0755);

	assert_int_equal(outcome.status, 0);
	assert_string_equal(outcome.program.executable, "/bin/sh");
	assert_string_not_equal(outcome.program.path, "/bin/sh");
	assert_int_equal(find_file("#!/no/such\n", 11, 0755).exit_status, ADA_EXIT_NOT_EXECUTABLE);
	assert_int_equal(find_file("#!\n", 3, 0755).status, -ENOEXEC);
	outcome = find_file("echo\n", 5, 0755);
	assert_int_equal(outcome.exit_status, ADA_EXIT_NOT_EXECUTABLE);
}

static void a_script_that_is_its_own_interpreter(void **state)
{
	char text[128];
	int length = snprintf(text, sizeof text, "#!%s/file\n", directory);

	assert_int_equal(find_file(text, (size_t)length, 0755).status, -ELOOP);
}

static void modes(void **state)
{
	assert_int_equal(find_file("#!/bin/sh\n", 10, 0644).exit_status, ADA_EXIT_NOT_EXECUTABLE);
	assert_non_null(strstr(find_file("#!/bin/sh\n", 10, 04755).error.text, "setuid"));
	assert_non_null(strstr(find_file("#!/bin/sh\n", 10, 02755).error.text, "setgid"));
	assert_int_equal(find_file("", 0, 0755).exit_status, ADA_EXIT_NOT_EXECUTABLE);
	assert_int_equal(find_file("\177ELF\002\001\001", 7, 0755).exit_status, ADA_EXIT_NOT_EXECUTABLE);
}

/* Without memory, but not gone: that is no other program that it has become. */
static void an_ending_process_is_known(void **state)
{
	siginfo_t ended;
	pid_t child = fork();

	if (!child)
		pause();
	assert_false(ada_process_is_ending(child));
	kill(child, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)child, &ended, WEXITED | WNOWAIT), 0);
	assert_true(ada_process_is_ending(child));
	assert_int_equal(waitpid(child, NULL, 0), child);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(an_ending_process_is_known),
					    cmocka_unit_test(in_path),
					    cmocka_unit_test(by_name),
					    cmocka_unit_test(scripts),
					    cmocka_unit_test(a_script_that_is_its_own_interpreter),
					    cmocka_unit_test(modes) };

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
