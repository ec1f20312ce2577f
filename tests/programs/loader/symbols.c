/* Weak symbols present and absent, ifuncs here and in a library, dlsym RTLD_DEFAULT, one address for one function.
 *
 * library: libsymbols.so lib/symbols.c
 * libs: -Wl,--no-as-needed -lsymbols
 * flags: -rdynamic
 * expect: weak 30, absent 0, ifunc 5 6, value 4
 * expect: addresses equal, default 30
 */
#include <dlfcn.h>
#include "check.h"

int answer(void);
int chosen(void);
int (*library_address(void))(void);
extern int library_value;
__attribute__((weak)) int absent(void);
NOINLINE int maybe(void)
{
	return 30;
}
static int slow(void)
{
	return 6;
}
static void *resolve_local(void)
{
	return (void *)slow;
}
static int local_choice(void) __attribute__((ifunc("resolve_local")));

int main(void)
{
	int (*found)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "maybe");

	printf("weak %d, absent %d, ifunc %d %d, value %d\n", maybe(), absent ? absent() : 0, chosen(), local_choice(), library_value);
	printf("addresses %s, default %d\n", library_address() == answer ? "equal" : "differ", found());
	return 0;
}
