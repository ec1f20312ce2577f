/* What the files about index files share, and detail files and sessions know of them. */
#ifndef ADA_ATF_INDEX_H
#define ADA_ATF_INDEX_H
#include "atf/ground/ground.h"
#include "atf/pack/packed.h"

#pragma GCC visibility push(hidden)

#define ATF_EVENTS_MAX ((uint64_t)UINT32_MAX) /* index_seq 0 ... UINT32_MAX - 1 */

/* Opens for writing and locks; the message of recover_fd gets the path in front. */
typedef int atf_recover_fd(int fd, const char *path, const void *context, struct atf_message *message);
int atf_recover_path(const char *path, atf_recover_fd *recover_fd, const void *context, struct atf_message *message);

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
	struct atf_mapping mapping;	/* size 0: the bytes are the caller's, or a small file's */
	const struct ada_event *events; /* NULL: they are packed */
	struct atf_packed *packed;
	uint64_t copy[]; /* of a small file */
};
/* The events from index_seq (which there is) on that lie side by side, *count of them: to the end of the file, or of the packed block. */
const struct ada_event *atf_index_run(const struct atf_index *index, uint64_t index_seq, uint64_t *count);
void atf_index_release(const struct atf_index *index, uint64_t from, uint64_t to); /* as atf_thread_release */
/* Of a run that begins with a block: whether these are the events that were encoded. True also where nothing tells. */
bool atf_index_sum_fits(const struct atf_index *index, uint64_t index_seq, const struct ada_event *events, uint64_t count);
bool atf_index_is_checked(const struct atf_index *index); /* false: the footer of a packed file lacks the events' CRC32 */
void atf_index_ahead(const struct atf_index *index, uint64_t from, uint64_t to); /* as atf_thread_ahead */

/* As of the packed file: false, -ATF_ERROR_INVALID where it isn't packed. */
bool atf_index_walk(const struct atf_index *index, struct atf_packed_walk *walk, uint64_t index_seq, uint64_t most);
uint64_t atf_index_block(const struct atf_index *index, uint64_t index_seq);	  /* its block's first event; or itself */
uint64_t atf_index_calls_from(const struct atf_index *index, uint64_t index_seq); /* itself where it isn't packed */
int atf_index_open_calls(const struct atf_index *index, uint64_t index_seq, struct atf_packed_open_calls *open);

int atf_index_open_fd(struct atf_index **index, int fd, struct atf_message *message); /* maps or reads; the fd stays open */
/* Of the file at `path`, which is being written: blocks on their way may be in it before those in front of them. It ends where the first of
 * these is missing. One that a crash left has all that there is. */
void atf_index_end_at_hole(struct atf_index *index, const char *path);
/* An index in memory that the caller owns: aligned to 8, unchanged until atf_index_close. */
int atf_index_open_bytes(struct atf_index **index, const void *bytes, size_t size, struct atf_message *message);

/* The header of a finished file says that there is a detail file. 0 or -errno. */
int atf_index_name_detail(int fd);
/* Finishes a packed file, whose descriptor this is: recover_packed.c. *lost: events whose blocks are damaged or missing. */
int atf_index_recover_packed(int fd, const char *path, const struct atf_index *index, uint64_t *lost, struct atf_message *message);

/* --- packed and plain: convert.c ------------------------------------------------------------------------------------------ */

/* Told of so many events more; true: stop. */
typedef bool atf_index_progress(void *context, uint64_t events);
/* Packs the segments of one thread, in order. */
struct atf_index_packer {
	struct atf_packer *packer;
	struct atf_pack_lane lane;
	struct ada_event *events; /* of a block */
};
int atf_index_packer_open(struct atf_index_packer *packer);
void atf_index_packer_close(struct atf_index_packer *packer);
/* Writes the thread's next segment to a new file. -ATF_ERROR_CORRUPT: the index isn't one that would come back byte for byte. */
int atf_index_pack(struct atf_index_packer *packer, const struct atf_index *index, const char *path, atf_index_progress *progress,
		   void *context, struct atf_message *message);
/* The same of any index, for recovery: with these flags in the header. */
int atf_index_pack_as_is(struct atf_index_packer *packer, const struct atf_index *index, const char *path, uint32_t flags,
			 atf_index_progress *progress, void *context, struct atf_message *message);
int atf_index_pass(struct atf_index_packer *packer, const struct atf_index *index); /* the thread's next segment stays as it is */
int atf_index_unpack(const struct atf_index *index, const char *path, atf_index_progress *progress, void *context,
		     struct atf_message *message);
/* Appends events to an unfinished packed file, which is open for writing, and leaves it unfinished. Where the file has no block yet, the
 * packer has passed what comes before it. */
int atf_index_append_packed(struct atf_index_packer *packer, int fd, const struct atf_index *index, const struct ada_event *events,
			    uint64_t count);
/* Blocks of a finished file were written raw, under pressure: squeeze.c. */
bool atf_index_is_raw(const struct atf_index *index);
/* A new file, on the disk, of the same blocks as this packed one, which is complete; all of them compressed. What failed stays there. */
int atf_index_squeeze(struct atf_index_packer *packer, const struct atf_index *index, const char *path, atf_index_progress *progress,
		      void *context, struct atf_message *message);
bool atf_index_same(const struct atf_index *one, const struct atf_index *other); /* byte for byte, as plain files */

#pragma GCC visibility pop
#endif
