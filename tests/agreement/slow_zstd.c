/* Preloaded into `ada trace`: its threads that pack and squeeze compress slowly. So blocks are written raw, and are still when it ends. */
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <time.h>
#include <zstd.h>

size_t ZSTD_compress2(ZSTD_CCtx *context, void *to, size_t capacity, const void *from, size_t length)
{
	static const struct timespec pause = { .tv_nsec = 20000000 };
	__typeof__(&ZSTD_compress2) next = (__typeof__(&ZSTD_compress2))dlsym(RTLD_NEXT, "ZSTD_compress2");
	char name[16] = "";

	pthread_getname_np(pthread_self(), name, sizeof name);
	if (!strcmp(name, "ada-pack") || !strcmp(name, "ada-squeeze"))
		nanosleep(&pause, NULL);
	return next(context, to, capacity, from, length);
}
