/* dladdr of functions of its own and of libc, and dlerror after a failure: the loader's answers do not change.
 *
 * flags: -rdynamic
 * expect: host_function at its address, qsort of libc.so.6, dlerror once
 */
#include <dlfcn.h>
#include <string.h>
#include "check.h"

NOINLINE int host_function(int n)
{
	BARRIER;
	return n;
}

int main(void)
{
	Dl_info own, libc;

	CHECK(dladdr((void *)host_function, &own) && dladdr(dlsym(RTLD_DEFAULT, "qsort"), &libc));
	CHECK(!dlopen("libno-such-library.so", RTLD_NOW));
	const char *error = dlerror();
	CHECK(error && strstr(error, "libno-such-library.so") && !dlerror());
	printf("%s %s, qsort of %s, dlerror once\n", own.dli_sname, own.dli_saddr == (void *)host_function ? "at its address" : "moved",
	       strrchr(libc.dli_fname, '/') + 1);
	return 0;
}
