#include "cli/ground/pager.h"
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/output.h"

static pid_t pager;

/* Ends the text, and waits until the user has read it. Also in a signal's handler. */
static void end_pager(void)
{
	close(STDOUT_FILENO);
	while (pager && waitpid(pager, NULL, 0) < 0)
		continue;
	pager = 0;
}

/* Ctrl-C reaches both: less only stops reading ahead, so the terminal is its own until the user quits it. */
static void die_after_pager(int number)
{
	end_pager();
	signal(number, SIG_DFL);
	raise(number);
}

static const char *pager_name(void)
{
	const char *names[] = { getenv("ADA_PAGER"), getenv("PAGER"), "less" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (names[i])
			return names[i];
	return "";
}

static bool can_page(const char *name)
{
	const char *terminal = getenv("TERM");

	return isatty(STDOUT_FILENO) && terminal && *terminal && strcmp(terminal, "dumb") && *name && strcmp(name, "cat");
}

static void run(const char *name, int from)
{
	dup2(from, STDIN_FILENO);
	setenv("LESS", "FRX", 0);
	execl("/bin/sh", "sh", "-c", name, (char *)NULL);
	_exit(127);
}

/* Whether the shell finds the first word of the pager's command: else the text would be lost with it. */
static bool is_there(const char *name)
{
	char *command = strndup(name, strcspn(name, " \t"));
	pid_t child = command ? fork() : -1;
	int status = -1;

	if (!child) {
		execl("/bin/sh", "sh", "-c", "command -v \"$1\" >/dev/null", "sh", command, (char *)NULL);
		_exit(127);
	}
	while (child > 0 && waitpid(child, &status, 0) < 0)
		continue;
	free(command);
	return !status;
}

void ada_pager_open(void)
{
	static const int deadly[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction action = { .sa_handler = die_after_pager }, before;
	const char *name = pager_name();
	struct winsize size = {};
	int ends[2];

	if (!can_page(name) || !is_there(name) || pipe(ends))
		return;
	ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
	pager = fork();
	if (!pager) {
		close(ends[1]);
		run(name, ends[0]);
	}
	close(ends[0]);
	if (pager < 0) {
		pager = 0;
		close(ends[1]);
		return;
	}
	ada_output_goes_to_terminal(size.ws_col);
	dup2(ends[1], STDOUT_FILENO);
	close(ends[1]);
	for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++)
		if (!sigaction(deadly[i], NULL, &before) && before.sa_handler == SIG_DFL)
			sigaction(deadly[i], &action, NULL);
	atexit(end_pager);
}
