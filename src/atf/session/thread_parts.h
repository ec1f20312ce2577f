/* A thread from inside: thread_files.c finds what its directory holds, thread_open.c opens that, thread.c answers from it. */
#ifndef ADA_ATF_THREAD_PARTS_H
#define ADA_ATF_THREAD_PARTS_H
#include "atf/session/thread.h"
#include "base/array.h"

#pragma GCC visibility push(hidden)

struct atf_segment {
	struct atf_index *index;
	uint64_t start; /* position of its first event in the thread */
	uint64_t begin; /* of the first event from which on none have gone until here */
	struct atf_detail_file *detail;
	int detail_status;  /* of opening it */
	bool detail_wanted; /* it was tried */
};

struct atf_thread {
	uint32_t segment_count, first_segment;
	uint64_t live;		 /* position of the first event of first_segment */
	AtfTotalsHeader *totals; /* of the segments before the first one, and all that follows in the file */
	uint64_t count;
	char *directory;
	bool cut; /* segments follow that can't be read */
	struct atf_segment segments[];
};

/* What a directory holds. */
struct atf_listing {
	uint32_t lowest, count;	  /* segments from a number on */
	ADA_ARRAY(uint32_t) kept; /* numbers of those that windows have kept */
};

/* Counts the segments in the directory from number `first` on (UINT32_MAX: from the lowest on, which `lowest` says): the highest number is
 * first + count - 1, or a lower one is missing. */
int atf_segments_find(const char *directory, uint32_t first, struct atf_listing *listing, struct atf_message *message);

#pragma GCC visibility pop
#endif
