/* Linked into programs built with -fxray-instrument: begins XRay's flight data recorder with the options $BENCH_XRAY, and writes
 * its log at the end; or, with $BENCH_COUNT, counts events and writes their number into that file. Without either nothing is
 * patched. XRay's headers are for C++ only. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int __xray_log_select_mode(const char *mode);
int __xray_log_init_mode(const char *mode, const char *options);
int __xray_log_finalize(void);
int __xray_log_flushLog(void);
int __xray_set_handler(void (*handler)(int32_t function, int kind));
int __xray_patch(void);

static unsigned long events;

static void count(int32_t function, int kind)
{
	__atomic_fetch_add(&events, 1, __ATOMIC_RELAXED);
}

static void tell(void)
{
	FILE *file = fopen(getenv("BENCH_COUNT"), "w");

	if (file) {
		fprintf(file, "%lu\n", events);
		fclose(file);
	}
}

static void flush(void)
{
	__xray_log_finalize();
	__xray_log_flushLog();
}

__attribute__((constructor)) static void begin(void)
{
	const char *options = getenv("BENCH_XRAY");

	if (getenv("BENCH_COUNT")) {
		__xray_set_handler(count);
		atexit(tell);
	} else if (options) {
		__xray_log_select_mode("xray-fdr");
		__xray_log_init_mode("xray-fdr", options);
		atexit(flush);
	} else {
		return;
	}
	__xray_patch();
}
