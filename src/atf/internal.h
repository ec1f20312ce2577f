/* What the files of libatf share and its users don't see. */
#ifndef ADA_ATF_INTERNAL_H
#define ADA_ATF_INTERNAL_H
#include "atf.h"

#pragma GCC visibility push(hidden)		/* libatf.map exports atf_*: these not */

#define ATF_EVENTS_OFFSET 64u			/* the only place where version 1 puts events */
#define ATF_EVENTS_MAX ((uint64_t)UINT32_MAX)	/* index_seq 0 ... UINT32_MAX - 1 */

extern struct atf_sink atf_sink_pwrite;
int atf_pwrite_all(int fd, const void *bytes, size_t length, off_t offset);	/* 0 or -errno */

int atf_system(int error);	/* -errno: sets errno and returns -ATF_ERROR_SYSTEM; 0: 0 */

/* Sets the message (NULL is fine) and returns -error. */
int atf_fail(struct atf_message *message, enum atf_error error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void atf_say(struct atf_message *message, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* "PATH: reason", of a long path its end: the reason is never cut. */
void atf_say_of(struct atf_message *message, const char *path, const char *reason);
int atf_fail_of(struct atf_message *message, const char *path, enum atf_error error, const char *reason);

/* Header and footer of an index file as they belong to `count` events with this CRC. */
struct atf_summary {
	uint64_t count;
	uint64_t time_start_ns, time_end_ns;
	uint32_t checksum;
};
void atf_header_start(AtfIndexHeader *header, uint32_t thread_id, uint8_t arch);
void atf_header_finish(AtfIndexHeader *header, const struct atf_summary *summary);
void atf_footer_fill(AtfIndexFooter *footer, const struct atf_summary *summary);
/* Footer, then header, so that a header that names a footer is never older than it. 0 or -errno. */
int atf_finish(int fd, const AtfIndexHeader *header, const struct atf_summary *summary);

/* What header, footer and size of a file say together: layout.c. */
struct atf_layout {
	AtfIndexHeader header;			/* a copy: the file may still be written */
	AtfIndexFooter footer;			/* zero where there is none */
	uint64_t count;				/* events that can be read; all lie inside the file */
	enum atf_completeness completeness;
	uint64_t footer_offset;			/* where a footer was found; 0: none */
	uint64_t size;
};
int atf_layout_read(struct atf_layout *layout, const uint8_t *bytes, uint64_t size, struct atf_message *message);

struct atf_index {
	struct atf_layout layout;
	const uint8_t *bytes;
	const struct ada_event *events;
	bool mapped;
};
int atf_index_open_fd(struct atf_index **index, int fd, struct atf_message *message);	/* maps; the fd stays open */
/* An index in memory that the caller owns: aligned to 8, unchanged until atf_index_close. */
int atf_index_open_bytes(struct atf_index **index, const void *bytes, size_t size, struct atf_message *message);

static inline bool atf_is_zero(const void *bytes, size_t length)
{
	const uint8_t *byte = bytes;

	while (length && !*byte)
		byte++, length--;
	return !length;
}
#pragma GCC visibility pop
#endif
