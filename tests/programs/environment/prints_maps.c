/* Anonymous memory that is both writable and executable would be a hole: there is none while a program is traced.
 *
 * expect: writable and executable 0
 */
#include <string.h>
#include "check.h"

int main(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[4096];
	int both = 0;

	while (fgets(line, sizeof line, maps))
		both += strstr(line, " rwx") != NULL;
	printf("writable and executable %d\n", both);
	return 0;
}
