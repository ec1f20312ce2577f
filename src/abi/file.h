/* ATF v2: the files of a recorded thread, little-endian and packed. specs/2 as settled in DESIGN section 3.
 *
 *   index.atf   [header 64][event 32]...[footer 64]      event i lies at 64 + 32 i: index_seq is its position
 *   detail.atf  [header 64][record, length-prefixed]...[offset table][window table][footer 64]
 *
 * The header is written first with zeros for what isn't known yet, and again when the file is finished. A missing or zero
 * footer is normal after a crash: a reader then takes the whole records that the file's size allows.
 * Written by src/atf/ only; a change of a field needs a new version number.
 */
#ifndef ADA_ABI_FILE_H
#define ADA_ABI_FILE_H
#include "abi/record.h"

#define ATF_ENDIAN_LITTLE 1
#define ATF_VERSION 1
#define ATF_ARCH_X86_64 1
#define ATF_ARCH_ARM64 2
#define ATF_OS_LINUX 4
#define ATF_CLOCK_BOOTTIME 3
#define ATF_FLAG_HAS_DETAIL 1u /* AtfIndexHeader.flags */
#define ATF_INDEX_MAGIC "ATI2"
#define ATF_INDEX_FOOTER_MAGIC "2ITA"
#define ATF_DETAIL_MAGIC "ATD2"
#define ATF_DETAIL_FOOTER_MAGIC "2DTA"

typedef struct __attribute__((packed)) {
	uint8_t magic[4];
	uint8_t endian, version, arch, os;
	uint32_t flags;
	uint32_t thread_id; /* OS thread id */
	uint8_t clock_type;
	uint8_t reserved1[3];
	uint32_t reserved2;
	uint32_t event_size;	/* 32 */
	uint32_t event_count;	/* saturates at UINT32_MAX: the footer's is authoritative */
	uint64_t events_offset; /* 64 */
	uint64_t footer_offset;
	uint64_t time_start_ns, time_end_ns; /* first and last event; 0 where there is none */
} AtfIndexHeader;
static_assert(sizeof(AtfIndexHeader) == 64, "index header");
static_assert(offsetof(AtfIndexHeader, clock_type) == 16, "clock_type");
static_assert(offsetof(AtfIndexHeader, event_size) == 24, "event_size");
static_assert(offsetof(AtfIndexHeader, events_offset) == 32, "events_offset");
static_assert(offsetof(AtfIndexHeader, time_start_ns) == 48, "time_start_ns");

typedef struct __attribute__((packed)) {
	uint8_t magic[4];
	uint32_t checksum; /* CRC32 (zlib's) of the events section */
	uint64_t event_count;
	uint64_t time_start_ns, time_end_ns;
	uint64_t bytes_written; /* of the events section */
	uint8_t reserved[24];
} AtfIndexFooter;
static_assert(sizeof(AtfIndexFooter) == 64, "index footer");

typedef struct __attribute__((packed)) {
	uint8_t magic[4];
	uint8_t endian, version, arch, os;
	uint32_t flags;
	uint32_t thread_id;
	uint32_t reserved1[2];
	uint64_t events_offset; /* 64 */
	uint64_t event_count;
	uint64_t bytes_length;
	uint64_t index_seq_start, index_seq_end;
} AtfDetailHeader;
static_assert(sizeof(AtfDetailHeader) == 64, "detail header");
static_assert(offsetof(AtfDetailHeader, events_offset) == 24, "events_offset");

enum { ATF_DETAIL_CALL = 3, ATF_DETAIL_RETURN = 4 }; /* event_type */
#define ATF_DETAIL_VECTORS 1u			     /* flags: uint64_t vectors[8] follow the stack's bytes */
#define ATF_DETAIL_CAPTURED 2u			     /* flags: entries of AtfDetailCaptured follow all else */
#define ATF_DETAIL_REDACTED(n) (0x100u << ((n)-1))   /* flags: of a call argument n, 1 to 6, was dropped; x[n - 1] is 0 */
#define ATF_DETAIL_REDACTED_ANY 0x3f00u
#define ATF_DETAIL_CAPTURES_MAX 4u    /* of a record */
#define ATF_DETAIL_CAPTURE_BYTES 256u /* of an entry, at most */
#define ATF_DETAIL_CAPTURED_MAX (ATF_DETAIL_CAPTURES_MAX * (16 + ATF_DETAIL_CAPTURE_BYTES + 8))
#define ATF_DETAIL_BYTES_MAX (24 + 100 + 256 + 64 + ATF_DETAIL_CAPTURED_MAX)

typedef struct __attribute__((packed)) { /* then the payload; the next record follows at once */
	uint32_t total_length;		 /* header and payload */
	uint16_t event_type;
	uint16_t flags;
	uint32_t index_seq; /* of the event, in the index file of the same segment */
	uint32_t thread_id;
	uint64_t timestamp; /* the event's */
} DetailEventHeader;
static_assert(sizeof(DetailEventHeader) == 24, "detail event header");

/* x86-64: x_regs on CALL = rdi rsi rdx rcx r8 r9 rax r10; on RETURN = rax rdx and the low halves of xmm0 xmm1, rest 0. lr =
 * return address, fp = rbp, sp = rsp at the return slot. ARM64: x0 to x7, x30, x29, sp; vectors = d0 to d7. */
typedef struct __attribute__((packed)) {
	uint64_t function_id;
	uint64_t x_regs[8];
	uint64_t lr, fp, sp;
	uint16_t stack_size; /* 0 to 256: bytes that follow */
	uint16_t reserved;
} DetailFunctionPayload;
static_assert(sizeof(DetailFunctionPayload) == 100, "detail payload");

/* What an argument of a call pointed at, or, of a RETURN, errno; then `length` bytes, and zeros up to the next multiple of 8, at least one. */
typedef struct __attribute__((packed)) {
	uint64_t address;
	uint16_t length;
	uint8_t argument; /* 1 to 6, ATF_CAPTURED_ERRNO */
	uint8_t flags;	  /* enum below */
	uint32_t reserved;
} AtfDetailCaptured;
static_assert(sizeof(AtfDetailCaptured) == 16, "detail captured");
enum {
	ATF_CAPTURED_STRING = 1, /* up to its NUL, which isn't among the bytes */
	ATF_CAPTURED_CUT = 2,	 /* there was more than was asked for: a string without its end */
	ATF_CAPTURED_BAD = 4,	 /* what lies behind these bytes couldn't be read */
};
#define ATF_CAPTURED_ERRNO 7u /* `argument` of a return's: 4 bytes, the thread's errno then */
#define ATF_CAPTURED_ROOM(length) (((length) + 8u) & ~7u)

/* Behind the last record, 8-aligned: uint64_t offset[event_count] (of each record from the file's start), then the windows
 * that touched this thread, in order. Their records lie without holes: record n of a window has detail_seq
 * first_detail_seq + n and offset[first_ordinal + n]. */
typedef struct __attribute__((packed)) {
	uint64_t start_ns, end_ns, marked_ns; /* marked_ns: of the window's first mark, on whatever thread */
	uint64_t first_detail_seq, first_ordinal, event_count;
	uint32_t marked_count; /* of the window, all threads together */
	uint32_t window_id;    /* manifest: detail_lane.windows[window_id] */
	uint64_t reserved;
} AtfDetailWindow;
static_assert(sizeof(AtfDetailWindow) == 64, "detail window");

typedef struct __attribute__((packed)) {
	uint8_t magic[4];
	uint32_t checksum; /* CRC32 of the events section */
	uint64_t event_count;
	uint64_t bytes_length;
	uint64_t time_start_ns, time_end_ns;
	uint64_t tables_offset; /* offset[event_count], then the windows */
	uint64_t window_count;
	uint32_t tables_checksum; /* CRC32 of both tables */
	uint32_t reserved;
} AtfDetailFooter;
static_assert(sizeof(AtfDetailFooter) == 64, "detail footer");
#endif
