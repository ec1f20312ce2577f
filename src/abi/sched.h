/* sched.atf: when the threads of a session ran, and when they did not. One file a session, of all its processes.
 * samples.atf, of the same layout: what the system counts for each thread, looked at 10 to 100 times a second.
 *
 *   sched.atf   [header 64][event 32]...[footer 64]      in order of time; times never fall
 *
 * Header and footer are written like those of index.atf: the header first with zeros for what isn't known yet, and again when the file is
 * finished; a file without footer holds the whole events that its size allows. Written by src/atf/sched only; a change of a field needs a
 * new version number. */
#ifndef ADA_ABI_SCHED_H
#define ADA_ABI_SCHED_H
#include "abi/file.h"

#define ATF_SCHED_MAGIC "ATS2"
#define ATF_SCHED_FOOTER_MAGIC "2STA"
#define ATF_SCHED_KERNEL_FAULTS 1u /* AtfSchedHeader.flags: also page faults that the kernel met for the program, as in read() */

typedef struct __attribute__((packed)) {
	uint8_t magic[4];
	uint8_t endian, version, arch, os;
	uint32_t flags;
	uint32_t cpus; /* that were watched */
	uint8_t clock_type;
	uint8_t reserved1[7];
	uint32_t event_size; /* 32 */
	uint32_t reserved2;
	uint64_t events_offset; /* 64 */
	uint64_t event_count;
	uint64_t time_start_ns, time_end_ns; /* of the first and last event; 0 where there is none */
} AtfSchedHeader;
static_assert(sizeof(AtfSchedHeader) == 64, "sched header");
static_assert(offsetof(AtfSchedHeader, event_size) == 24, "event_size");
static_assert(offsetof(AtfSchedHeader, time_start_ns) == 48, "time_start_ns");

enum {
	ATF_SCHED_OFF = 1,	 /* left its CPU of its own accord: it waits, or has ended */
	ATF_SCHED_PREEMPTED = 2, /* was taken off its CPU, and is ready to run */
	ATF_SCHED_ON = 3,	 /* runs on the CPU from here on */
	ATF_SCHED_FAULT = 4,	 /* `count` page faults, the last of them now, all within a millisecond */
	ATF_SCHED_LOST = 5,	 /* `count` events of this CPU are missing before this one; no thread's */
	/* Of samples.atf alone, up to THROTTLED: of the time that other_id microseconds before this one began. What has not changed has no record. */
	ATF_SCHED_RAN = 6,	  /* the thread ran for `count` ns, lastly on that CPU */
	ATF_SCHED_READY = 7,	  /* it was ready to run for `count` ns, and had no CPU */
	ATF_SCHED_MINOR = 8,	  /* it had `count` page faults that needed no disk */
	ATF_SCHED_MAJOR = 9,	  /* it had `count` page faults that read from one */
	ATF_SCHED_STOLEN = 10,	  /* a hypervisor had the CPU for `count` ns; no thread's */
	ATF_SCHED_THROTTLED = 11, /* the control group's limit held it up for `count` ns, of all its CPUs together; no thread's */
	/* Of sched.atf */
	ATF_SCHED_PAUSED = 12, /* the lane rests from here on: of no thread is known what it does, up to its next event; no thread's */
	ATF_SCHED_KINDS
};

typedef struct __attribute__((packed)) {
	uint64_t timestamp_ns;
	uint64_t count;
	uint32_t thread_id, process_id; /* the operating system's */
	uint32_t other_id;		/* of PREEMPTED: the thread that the CPU went to, of the session; 0: another, or not known.
					 * Of samples: us since the look before */
	uint16_t kind, cpu;
} AtfSchedEvent;
static_assert(sizeof(AtfSchedEvent) == 32, "sched event");
static_assert(offsetof(AtfSchedEvent, other_id) == 24, "other_id");

typedef struct __attribute__((packed)) {
	uint8_t magic[4];
	uint32_t checksum; /* CRC32 (zlib's) of the events */
	uint64_t event_count;
	uint64_t time_start_ns, time_end_ns;
	uint64_t bytes_written; /* of the events */
	uint8_t reserved[24];
} AtfSchedFooter;
static_assert(sizeof(AtfSchedFooter) == 64, "sched footer");
#endif
