/* Totals of a thread, THREAD/totals: what its oldest segments added up to before they went. And its sums, THREAD/sums: what its first events
 * add up to, though they are there. docs/format.md explains both.
 *
 *   [header 128][call that was open 40]...[one set aside 40]...[function 80, its buckets]...
 *
 * Little-endian. Written whole beside the old one and renamed; totals before the segments go: so each segment counts in one of both. Written
 * by `ada pack`, and by `ada trace`: totals while it records (cli/record/fold.c), sums at its end (query/tally/sums.c). A change of any field
 * needs a new version number.
 */
#ifndef ADA_ABI_TOTALS_H
#define ADA_ABI_TOTALS_H
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#define ATF_TOTALS_MAGIC "ATT2"
#define ATF_TOTALS_VERSION 1
#define ATF_TOTALS_AFTER_LOSS 1u /* AtfTotalsHeader.flags: the last record with a kind up to 4 is LOST */

/* AtfTotalsCall.flags */
#define ATF_TOTALS_ADDS 1u	  /* no call of its function was open around it: its duration counts in total_ns */
#define ATF_TOTALS_ACROSS_LOSS 2u /* events were lost since it began */

typedef struct __attribute__((packed)) {
	uint8_t magic[4];
	uint8_t endian, version, arch, os; /* as of an index */
	uint32_t thread_id;
	uint32_t first_segment; /* those before it are in here; 0: these are sums */
	uint64_t event_count;	/* their records, of all kinds */
	uint64_t calls, ends;	/* of these: CALLs; RETURNs and EXCEPTIONs. Of sums 0, and so is gaps */
	uint64_t gaps, told;	/* LOST ones, and how many events they stand for */
	uint64_t time_start_ns, time_end_ns;
	uint64_t before_loss_ns; /* with ATF_TOTALS_AFTER_LOSS: time of the last record before the loss */
	uint64_t body_bytes;	 /* of all behind the header */
	uint32_t open_count, aside_count, function_count;
	uint32_t flags;
	uint32_t body_checksum;	  /* CRC32 of all behind the header */
	uint32_t header_checksum; /* CRC32 of the header, with this field 0 */
	uint8_t reserved[16];
} AtfTotalsHeader;
static_assert(sizeof(AtfTotalsHeader) == 128, "totals header");
static_assert(offsetof(AtfTotalsHeader, event_count) == 16, "event_count");
static_assert(offsetof(AtfTotalsHeader, open_count) == 88, "open_count");

typedef struct __attribute__((packed)) {
	uint64_t function_id, start_ns;
	uint64_t children_ns, waited_ns; /* of the calls directly below that have ended, and of gaps; for the recorder */
	uint32_t depth;
	uint32_t flags;
} AtfTotalsCall;
static_assert(sizeof(AtfTotalsCall) == 40, "totals call");

typedef struct __attribute__((packed)) {
	uint64_t function_id;
	uint64_t calls;	  /* that the durations leave out: across a loss, or without a known end */
	uint64_t unknown; /* of these: without a known end */
	uint64_t total_ns, self_ns;
	uint64_t count, sum_ns, min_ns, max_ns; /* of durations */
	uint32_t bucket_count;			/* that follow, */
	uint32_t bucket_bytes;			/* in so many bytes */
} AtfTotalsFunction;
static_assert(sizeof(AtfTotalsFunction) == 80, "totals function");

#define ATF_TOTALS_BUCKETS 3776u /* there are; docs/format.md numbers them */
#endif
