/* A shell's command that takes long: by system, read from popen, or waited for by pclose; as the second argument says. Beside it another
 * thread runs other commands. */
#include <stdio.h>
#include "causes.h"

static const char *how = "system";
static atomic_bool begun;

OUT void run_hook(void)
{
	if (system(caused ? "sleep 0.4; : hook" : ": hook"))
		abort();
}

OUT void ask_tool(void)
{
	char answer[16];
	FILE *tool = popen(caused ? "sleep 0.4; echo ready" : "echo ready", "r");

	if (!tool || !fgets(answer, sizeof answer, tool) || pclose(tool))
		abort();
}

OUT void await_tool(void)
{
	char answer[16];
	FILE *tool = popen(caused ? "echo ready; exec >&-; sleep 0.4" : "echo ready", "r");

	if (!tool || !fgets(answer, sizeof answer, tool) || pclose(tool))
		abort();
}

OUT void serve(void)
{
	if (!strcmp(how, "popen"))
		ask_tool();
	else if (!strcmp(how, "pclose"))
		await_tool();
	else
		run_hook();
}

static void *beside(void *unused)
{
	while (!over) {
		FILE *other = popen(": beside", "r");

		if (!other || pclose(other) || system(": between"))
			abort();
		begun = true;
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	how = argc > 2 ? argv[2] : how;
	begin(argc, argv);
	pthread_create(&thread, NULL, beside, NULL);
	while (!begun)
		usleep(100);
	serve();
	over = true;
	pthread_join(thread, NULL);
	end();
}
