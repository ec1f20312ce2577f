/* A profiler that follows frame pointers by itself: the chain leads from frame to frame as untraced, past stubs, to main; and
 * each word beside a frame pointer is code that may be looked up.
 *
 * flags: -fno-omit-frame-pointer -fno-optimize-sibling-calls
 * expect: 9 frames in order, all with code beside them
 */
#include <dlfcn.h>
#include <stdlib.h>
#include "check.h"

static void *frames[16];
static int entered;

#define ENTER() (frames[entered++] = __builtin_frame_address(0))

NOINLINE static void walk(void)
{
	void **frame = __builtin_frame_address(0);
	int count = 0, code = 0;
	Dl_info info;

	for (int at = entered - 1; at >= 0; at--) {
		frame = frame[0];
		count += frame == frames[at];
		code += dladdr(frame[1], &info) != 0;
	}
	printf("%d frames in order, %s\n", count, code == entered ? "all with code beside them" : "some with no code");
}

NOINLINE int recurses(int n)
{
	ENTER();
	int result = n ? recurses(n - 1) + 1 : (walk(), 0);
	BARRIER;
	return result;
}
NOINLINE int middle(void)
{
	ENTER();
	int result = recurses(6);
	BARRIER;
	return result;
}

int main(void)
{
	ENTER();
	return middle() != 6;
}
