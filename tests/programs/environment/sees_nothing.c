/* A program that looks at its environment sees none of the tracer's: variables, descriptors, name, arguments, mask, limits.
 *
 * env: KEPT=1
 * expect: KEPT 1, LD_PRELOAD (null), ADA_SOCKET (null), in environ 0
 * expect: descriptors 0 1 2
 * expect: name program, arguments 1, executable program
 * expect: children none, tracer 0, dumpable 1
 */
#include <dirent.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "check.h"

extern char **environ;

static const char *last(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

NOINLINE static void print_descriptors(void)
{
	DIR *directory = opendir("/proc/self/fd");
	struct dirent *entry;
	int open[256] = { 0 };

	printf("descriptors");
	while ((entry = readdir(directory)))
		if (*entry->d_name != '.' && atoi(entry->d_name) != dirfd(directory) && atoi(entry->d_name) < 256)
			open[atoi(entry->d_name)] = 1;
	closedir(directory);
	for (int i = 0; i < 256; i++)
		if (open[i])
			printf(" %d", i);
	puts("");
}

int main(int count, char **arguments)
{
	char name[17] = "", link[4096] = "", line[256];
	int ours = 0, tracer = -1;

	for (char **variable = environ; *variable; variable++)
		ours += !strncmp(*variable, "ADA_", 4) || strstr(*variable, "libada");
	printf("KEPT %s, LD_PRELOAD %s, ADA_SOCKET %s, in environ %d\n", getenv("KEPT"), getenv("LD_PRELOAD"), getenv("ADA_SOCKET"), ours);
	print_descriptors();
	prctl(PR_GET_NAME, name);
	readlink("/proc/self/exe", link, sizeof link - 1);
	printf("name %s, arguments %d, executable %s\n", name, count, last(link));
	FILE *status = fopen("/proc/self/status", "r");
	while (fgets(line, sizeof line, status))
		sscanf(line, "TracerPid: %d", &tracer);
	fclose(status);
	printf("children %s, tracer %d, dumpable %d\n", waitpid(-1, NULL, WNOHANG) < 0 ? "none" : "some", tracer, prctl(PR_GET_DUMPABLE));
	return 0;
}
