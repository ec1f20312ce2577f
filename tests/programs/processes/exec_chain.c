/* execv of itself ten times over, so the agent comes along each time and the environment does not grow.
 *
 * expect: 10 lives, environment kept
 */
#include <string.h>
#include <unistd.h>
#include "check.h"

extern char **environ;
static int variables(void)
{
	int n = 0;

	while (environ[n])
		n++;
	return n;
}

int main(int count, char **arguments)
{
	char life[16], first[16];
	int lives = count > 2 ? atoi(arguments[1]) : 0;
	int before = count > 2 ? atoi(arguments[2]) : variables();

	CHECK(!getenv("LD_PRELOAD") && !getenv("ADA_SOCKET"));
	CHECK(before == variables());
	if (lives == 10) {
		printf("%d lives, environment kept\n", lives);
		return 0;
	}
	snprintf(life, sizeof life, "%d", lives + 1);
	snprintf(first, sizeof first, "%d", before);
	execv("/proc/self/exe", (char *[]){ arguments[0], life, first, NULL });
	return 98;
}
