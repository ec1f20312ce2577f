/* What all of libatf stands on: messages, and files in memory. */
#ifndef ADA_ATF_GROUND_H
#define ADA_ATF_GROUND_H
#include "atf.h"

#pragma GCC visibility push(hidden) /* libatf.map exports atf_*: these not */

#define ATF_EVENTS_OFFSET 64u /* the only place where version 1 puts events */

extern struct atf_sink atf_sink_pwrite;

int atf_system(int error); /* -errno: sets errno and returns -ATF_ERROR_SYSTEM; 0: 0 */

/* Sets the message (NULL is fine) and returns -error. */
int atf_fail(struct atf_message *message, enum atf_error error, const char *format, ...) __attribute__((format(printf, 3, 4)));
void atf_say(struct atf_message *message, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* "PATH: reason", of a long path its end: the reason is never cut. */
void atf_say_of(struct atf_message *message, const char *path, const char *reason);
int atf_fail_of(struct atf_message *message, const char *path, enum atf_error error, const char *reason);

/* Header and footer of an index file as they belong to `count` events with this CRC. */
struct atf_summary {
	uint64_t count;
	uint64_t time_start_ns, time_end_ns;
	uint32_t checksum;
	bool unchecked; /* nobody has computed it, and it is 0: the file is packed, and its blocks have sums */
};
void atf_header_start(AtfIndexHeader *header, uint32_t thread_id, uint8_t arch);
void atf_header_finish(AtfIndexHeader *header, const struct atf_summary *summary);
void atf_footer_fill(AtfIndexFooter *footer, const struct atf_summary *summary);
/* Writes the footer, then the header, so that a header that names a footer is never older than that footer. 0 or -errno. */
int atf_finish(int fd, const AtfIndexHeader *header, const struct atf_summary *summary);

/* A file in memory, as it was when it was mapped: map.c. */
struct atf_mapping {
	const uint8_t *bytes;
	uint64_t size; /* 0: empty, nothing is mapped */
};
int atf_file_size(int fd, uint64_t *size, struct atf_message *message); /* of a regular file: nothing else is read */
int atf_map_bytes(struct atf_mapping *mapping, int fd, uint64_t size, struct atf_message *message);
int atf_map(struct atf_mapping *mapping, int fd, struct atf_message *message); /* both */
bool atf_read_ends(int fd, uint64_t size, uint8_t head[64], uint8_t tail[64]); /* of a file of at least 64 bytes */
void atf_unmap(const struct atf_mapping *mapping);
void atf_unneed(const struct atf_mapping *mapping, const void *from, const void *to); /* as atf_thread_release */
void atf_need(const struct atf_mapping *mapping, const void *from, const void *to);   /* as atf_thread_ahead */
bool atf_has_grown(int fd, uint64_t size);
/* Opens for reading; the message of open_fd gets the path in front. `file` is passed on. */
typedef int atf_open_fd(void *file, int fd, struct atf_message *message);
int atf_open_path(const char *path, atf_open_fd *open_fd, void *file, struct atf_message *message);
struct atf_kind {
	const char *article, *name, *magic, *other_name, *other_magic;
	uint8_t newest; /* version; the oldest is ATF_VERSION */
};
/* Size of a header, magic, byte order, version. */
int atf_identity_check(const uint8_t *bytes, uint64_t size, const struct atf_kind *kind, struct atf_message *message);

static inline bool atf_is_zero(const void *bytes, size_t length)
{
	const uint8_t *byte = bytes;

	while (length && !*byte)
		byte++, length--;
	return !length;
}
#pragma GCC visibility pop
#endif
