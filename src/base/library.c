#include "base/library.h"
#include <dlfcn.h>
#include <errno.h>

int ada_library_open(const char *file, void *pointers, const char *const *names, size_t count, struct ada_error *error)
{
	void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return ada_error_set(error, ENOENT, "can't load a library: %s", dlerror());
	for (size_t i = 0; i < count; i++)
		if (!dlsym(library, names[i]))
			return ada_error_set(error, ENOENT, "can't use a library: %s", dlerror());
	for (size_t i = 0; i < count; i++)
		((void **)pointers)[i] = dlsym(library, names[i]);
	return 0;
}
