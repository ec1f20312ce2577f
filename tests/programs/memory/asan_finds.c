/* ASan reports a heap overflow: the report's exit status stays, and the tool still sees the program's frames.
 *
 * flags: -fsanitize=address -fno-builtin
 * env: ASAN_OPTIONS=detect_leaks=0:exitcode=23:log_path=report:verify_asan_link_order=0
 * run: -> 23
 * expect: before
 */
#include "check.h"

NOINLINE static int read_at(int depth, const char *place)
{
	int n = depth ? read_at(depth - 1, place) : place[16];

	BARRIER;
	return n;
}

int main(void)
{
	char *place = malloc(16);

	puts("before");
	fflush(stdout);
	return read_at(5, place);
}
