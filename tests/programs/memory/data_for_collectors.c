/* What a conservative collector takes for roots: the writable segments of all modules, as their program headers say. A tracer's
 * must be few: each collection reads them.
 *
 * expect: others have at most 64 KiB: yes
 */
#include <link.h>
#include <string.h>
#include "check.h"

static int visit(struct dl_phdr_info *info, size_t size, void *data)
{
	static const char *const usual[] = { "libc.so", "ld-linux", "vdso", "libm.so" };
	size_t *bytes = data;

	if (!*info->dlpi_name)
		return 0;
	for (int i = 0; i < 4; i++)
		if (strstr(info->dlpi_name, usual[i]))
			return 0;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_W)
			*bytes += info->dlpi_phdr[i].p_memsz;
	return 0;
}

int main(void)
{
	size_t bytes = 0;

	dl_iterate_phdr(visit, &bytes);
	printf("others have at most 64 KiB: %s\n", bytes <= 64 << 10 ? "yes" : "no");
	return 0;
}
