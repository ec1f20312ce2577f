/* A shell started by a traced program sees the same environment as without; `env` prints nothing new.
 *
 * env: KEPT=1
 * expect: KEPT=1
 * expect: ours 0
 */
#include "check.h"

int main(void)
{
	setbuf(stdout, NULL);
	system("env | grep ^KEPT=");
	system("echo ours $(env | grep -c -e ADA_ -e libada -e LD_PRELOAD)");
	return 0;
}
