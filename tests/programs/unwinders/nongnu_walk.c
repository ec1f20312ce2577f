/* nongnu libunwind's cursors, its local ones and its general ones, and unw_backtrace: the frames of the program and no others.
 *
 * flags: -rdynamic -funwind-tables
 * libs: -lunwind -lunwind-x86_64
 * expect: 3 walks agree
 * expect: frames: walk_local by_library sorter recurses recurses recurses recurses main
 * expect: others 0
 */
#include <libunwind.h>
#include "lib/walks.h"

extern int _ULx86_64_init_local(unw_cursor_t *, unw_context_t *), _ULx86_64_step(unw_cursor_t *);
extern int _ULx86_64_get_reg(unw_cursor_t *, int, unw_word_t *);

NOINLINE int walk_local(void **addresses)
{
	unw_context_t context;
	unw_cursor_t cursor;
	unw_word_t ip;
	int count = 0;

	CHECK(!unw_getcontext(&context) && !_ULx86_64_init_local(&cursor, &context));
	do {
		CHECK(count < 64 && !_ULx86_64_get_reg(&cursor, UNW_REG_IP, &ip));
		addresses[count++] = (void *)ip;
	} while (_ULx86_64_step(&cursor) > 0);
	return count;
}

NOINLINE int walk_general(void **addresses)
{
	unw_context_t context;
	unw_cursor_t cursor;
	unw_word_t ip;
	int count = 0;

	CHECK(!unw_getcontext(&context) && !unw_init_local(&cursor, &context));
	do {
		CHECK(count < 64 && !unw_get_reg(&cursor, UNW_REG_IP, &ip));
		addresses[count++] = (void *)ip;
	} while (unw_step(&cursor) > 0);
	return count;
}

static void walk(void)
{
	void *a[64], *b[64], *c[64];
	int count = walk_local(a);

	CHECK(walk_general(b) == count && unw_backtrace(c, 64) == count - 1);
	for (int i = 2; i < count; i++)
		CHECK(a[i] == b[i] && a[i] == c[i - 1]);
	puts("3 walks agree");
	for (int i = 0; i < count; i++)
		note(a[i]);
}
