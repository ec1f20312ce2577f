/* posix_spawn with file actions and attributes, from main and from a thread; and of a program that isn't there.
 *
 * flags: -pthread
 * expect: from main
 * expect: from a thread
 * expect: missing: 2
 */
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include "check.h"

extern char **environ;

NOINLINE static void spawn_echo(const char *text)
{
	posix_spawn_file_actions_t actions;
	char *arguments[] = { "echo", (char *)text, NULL }, buffer[64] = "";
	int ends[2], status;
	pid_t pid;

	CHECK(!pipe(ends));
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
	posix_spawn_file_actions_addclose(&actions, ends[0]);
	CHECK(!posix_spawnp(&pid, "echo", &actions, NULL, arguments, environ));
	close(ends[1]);
	CHECK(read(ends[0], buffer, sizeof buffer - 1) > 0);
	close(ends[0]);
	waitpid(pid, &status, 0);
	CHECK(status == 0);
	printf("%s", buffer);
}
static void *body(void *unused)
{
	spawn_echo("from a thread");
	return NULL;
}

int main(void)
{
	pthread_t thread;
	char *arguments[] = { "missing", NULL };
	pid_t pid;

	spawn_echo("from main");
	pthread_create(&thread, NULL, body, NULL);
	pthread_join(thread, NULL);
	printf("missing: %d\n", posix_spawn(&pid, "/no/such/program", NULL, NULL, arguments, environ));
	return 0;
}
