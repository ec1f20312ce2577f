/* A process and its child do the same, each on its thread 0, with a number of its own. */
#include <sys/wait.h>
#include <unistd.h>

#define OUT __attribute__((noinline, noclone))

static volatile int kept;

OUT void weigh(int grams)
{
	kept = grams;
}

OUT void serve(int grams)
{
	for (int i = 0; i < 3; i++)
		weigh(grams + i);
}

int main(void)
{
	pid_t child = fork();

	serve(child ? 1000 : 2000);
	return child ? waitpid(child, NULL, 0) != child : 0;
}
