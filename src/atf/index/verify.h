/* What the checks of index and detail files share. */
#ifndef ADA_ATF_VERIFY_H
#define ADA_ATF_VERIFY_H
#include "atf/index/index.h"

#pragma GCC visibility push(hidden)

struct atf_verify {
	atf_finding *found;
	void *context;
	int failed;
};
void atf_report(struct atf_verify *verify, const char *check, bool ok, const char *format, ...) __attribute__((format(printf, 4, 5)));

/* How many there are of something, and where the first is. */
struct atf_first {
	uint64_t count, at;
};
static inline void atf_count_first(struct atf_first *first, uint64_t here)
{
	if (!first->count++)
		first->at = here;
}
/* Failed where there are any: "COUNT what AT". */
void atf_report_first(struct atf_verify *verify, const char *check, const struct atf_first *first, const char *what);

/* .../index.3.atf -> .../detail.3.atf, or the other way round. False: it is no such name, or too long. */
bool atf_lane_path(char *path, size_t size, const char *other, const char *from, const char *to);

bool atf_has_detail_file(const char *index_path);

#pragma GCC visibility pop
#endif
