#ifndef ADA_RECORDER_HUGE_H
#define ADA_RECORDER_HUGE_H
#include <stdint.h>

/* How many of these bytes of ours lie in huge pages, as the kernel maps them; UINT64_MAX: it doesn't say (before Linux 6.7). */
uint64_t ada_huge_bytes(const void *start, uint64_t bytes);
#endif
