/* What the files about index files share, and detail files and sessions know of them. */
#ifndef ADA_ATF_INDEX_H
#define ADA_ATF_INDEX_H
#include "atf/ground/ground.h"

#pragma GCC visibility push(hidden)

#define ATF_EVENTS_MAX ((uint64_t)UINT32_MAX) /* index_seq 0 ... UINT32_MAX - 1 */

/* Opens for writing and locks; the message of recover_fd gets the path in front. */
typedef int atf_recover_fd(int fd, const char *path, const void *context, struct atf_message *message);
int atf_recover_path(const char *path, atf_recover_fd *recover_fd, const void *context, struct atf_message *message);

/* Header and footer of an index file as they belong to `count` events with this CRC. */
struct atf_summary {
	uint64_t count;
	uint64_t time_start_ns, time_end_ns;
	uint32_t checksum;
};
void atf_header_start(AtfIndexHeader *header, uint32_t thread_id, uint8_t arch);
void atf_header_finish(AtfIndexHeader *header, const struct atf_summary *summary);
/* Writes the footer, then the header, so that a header that names a footer is never older than that footer. 0 or -errno. */
int atf_finish(int fd, const AtfIndexHeader *header, const struct atf_summary *summary);

/* What header, footer and size of a file say together: layout.c. */
struct atf_layout {
	AtfIndexHeader header; /* a copy: the file may still be written */
	AtfIndexFooter footer; /* zero where there is none */
	uint64_t count;	       /* events that can be read; all lie inside the file */
	enum atf_completeness completeness;
	uint64_t footer_offset; /* where a footer was found; 0: none */
	uint64_t size;
};
int atf_layout_read(struct atf_layout *layout, const uint8_t *bytes, uint64_t size, struct atf_message *message);
/* By the first and the last 64 bytes alone. False: the file is neither complete nor plainly unfinished, and the caller has to look at
 * it. */
bool atf_layout_read_ends(struct atf_layout *layout, const uint8_t *head, const uint8_t *tail, uint64_t size, struct atf_message *message);

struct atf_index {
	struct atf_layout layout;
	struct atf_mapping mapping; /* size 0: the bytes are the caller's, or a small file's */
	const struct ada_event *events;
	uint64_t copy[]; /* of a small file */
};
int atf_index_open_fd(struct atf_index **index, int fd, struct atf_message *message); /* maps or reads; the fd stays open */
/* An index in memory that the caller owns: aligned to 8, unchanged until atf_index_close. */
int atf_index_open_bytes(struct atf_index **index, const void *bytes, size_t size, struct atf_message *message);

#pragma GCC visibility pop
#endif
