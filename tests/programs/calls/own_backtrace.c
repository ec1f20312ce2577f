/* A program that reads its own stack, by backtrace() and by _Unwind_Backtrace, and names each frame with dladdr.
 *
 * flags: -rdynamic -funwind-tables
 * expect: 13 frames: dive x10, middle, main
 * expect: unwinder saw 10 dives, then middle, then main
 * expect: stepped over 0 frames of others
 */
#include <dlfcn.h>
#include <execinfo.h>
#include <string.h>
#include <unwind.h>
#include "check.h"

static void *frames[64];
static int count, dives, seen, order, others;

static const char *name_of(void *address)
{
	Dl_info info;

	if (!dladdr((char *)address - 1, &info))
		return "?";
	return info.dli_sname ? info.dli_sname : strstr(info.dli_fname, "libc.so") ? "libc" : "?";
}

static _Unwind_Reason_Code visit(struct _Unwind_Context *context, void *unused)
{
	const char *name = name_of((void *)_Unwind_GetIP(context));

	if (!strcmp(name, "dive"))
		dives++;
	else if (!strcmp(name, "middle"))
		order = order * 10 + 1;
	else if (!strcmp(name, "main"))
		order = order * 10 + 2;
	else if (order == 0 && dives && strcmp(name, "look"))
		others++;
	return _URC_NO_REASON;
}

NOINLINE void look(void)
{
	count = backtrace(frames, 64);
	_Unwind_Backtrace(visit, NULL);
	BARRIER;
}
NOINLINE void dive(int depth)
{
	if (depth)
		dive(depth - 1);
	else
		look();
	BARRIER;
}
NOINLINE void middle(void)
{
	dive(9);
	BARRIER;
}

int main(void)
{
	middle();
	int from = 0, found = 0;
	while (from < count && strcmp(name_of(frames[from]), "dive"))
		from++;
	while (from + found < count && !strcmp(name_of(frames[from + found]), "dive"))
		found++;
	printf("%d frames: dive x%d, %s, %s\n", from + found + 2, found, name_of(frames[from + found]), name_of(frames[from + found + 1]));
	printf("unwinder saw %d dives, then %s\n", dives, order == 12 ? "middle, then main" : "others");
	printf("stepped over %d frames of others\n", others);
	return 0;
}
