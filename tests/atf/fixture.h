/* What the tests of libatf share: a scratch directory a test, events whose values are known, files as bytes. */
#ifndef ADA_TESTS_ATF_FIXTURE_H
#define ADA_TESTS_ATF_FIXTURE_H
#include "../test.h"
#include "atf.h"

#define THREAD_ID 4711

struct fixture {
	char directory[64];
	char path[96];	 /* directory/index.atf */
	char detail[96]; /* directory/detail.atf */
};
int fixture_make(void **state);
int fixture_remove(void **state);
#define FIXTURE_TEST(function) cmocka_unit_test_setup_teardown(function, fixture_make, fixture_remove)

/* Event number i of every test: time 1000 + 10 i, calls and returns in turn. */
struct ada_event fixture_event(uint64_t i);
void fixture_events(struct ada_event *events, uint64_t first, size_t count);
/* A finished file of `count` events, from event `first` on. */
void fixture_write(const char *path, uint64_t first, size_t count);

/* Detail of event number i: every value follows from i. Events 4, 9, 14, ... have none, as LOST ones; detail_seq counts the
 * others. The stack's bytes are static, until the next call. */
bool fixture_has_detail(uint64_t i);
uint32_t fixture_detail_seq(uint64_t i); /* ADA_NO_DETAIL where it has none */
struct atf_detail fixture_detail(uint64_t i);
void fixture_expect_same_detail(const struct atf_detail *record, const struct atf_detail *expected);
void fixture_expect_detail(const struct atf_detail *record, uint64_t i); /* detail_seq too */
/* A window of the events first to last (inclusive). */
AtfDetailWindow fixture_window(uint64_t first, uint64_t last);
/* An index file of `count` events with detail_seq, and a detail file beside it of these windows; finished or abandoned. */
struct fixture_range {
	uint64_t first, last;
};
void fixture_write_detail_index(const char *path, uint64_t first, size_t count);
void fixture_write_detail(const char *path, const struct fixture_range *windows, size_t count, uint8_t arch, bool finish);

struct bytes {
	uint8_t *bytes;
	size_t length;
};
struct bytes bytes_read(const char *path);
void bytes_write(const char *path, const void *bytes, size_t length);

/* The same numbers in every run. */
struct random {
	uint64_t state;
};
uint64_t random_next(struct random *random);
static inline uint64_t random_below(struct random *random, uint64_t limit)
{
	return random_next(random) % limit;
}

/* Findings of a verification. */
struct findings {
	int failed, made;
	char first[256]; /* "check: message" of the first that failed */
	char all[1024];	 /* "check: message\n" of all that say something */
};
int findings_take(struct findings *findings, const char *path);
/* Of a detail file, against its index where index_path is not NULL. */
int findings_take_detail(struct findings *findings, const char *path, const char *index_path);
#endif
