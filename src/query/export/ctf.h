/* A CTF 1.8 trace: a directory with `metadata`, which says how to read the others, and a stream of packets for each thread
 * (thread_P_N: process P of the session, thread N), for when it had a CPU (cpu_P_N), and for the marks of each process (marks_P). */
#ifndef ADA_QUERY_EXPORT_CTF_H
#define ADA_QUERY_EXPORT_CTF_H
#include "query/export/export.h"

#define ADA_CTF_MAGIC 0xC1FC1FC1u
enum { ADA_CTF_THREAD, ADA_CTF_MARKS, ADA_CTF_CPU }; /* stream classes */

/* The metadata's text. It names every function of export->names, so it comes last. */
int ada_ctf_write_metadata(struct ada_export *export, const char *path, struct ada_error *error);

/* Of the event `cpu`: an enum ada_export_cpu_state, or that no more is known. */
#define ADA_CTF_CPU_END 4

/* One stream being written: a packet at a time. */
struct ada_ctf_stream {
	int fd;
	const char *path;
	struct ada_error *error;
	uint32_t class_id, process, thread, tid;
	uint64_t instance;		  /* another one for each stream of a class */
	char *process_name, *thread_name; /* UTF-8 */
	uint64_t discarded, packets;
	uint64_t begin_ns, end_ns; /* of the packet */
	size_t head, used;	   /* of its bytes */
	unsigned char *bytes;
	int result; /* of the first write that failed */
};
int ada_ctf_stream_open(struct ada_ctf_stream *stream, const char *path, struct ada_error *error);
/* Room for one event with `size` bytes behind its header, in this packet or a new one; NULL: can't be written. */
unsigned char *ada_ctf_stream_event(struct ada_ctf_stream *stream, uint8_t id, uint64_t ns, size_t size);
/* Ends the packet; so many more events are lost before what comes next. */
void ada_ctf_stream_cut(struct ada_ctf_stream *stream, uint64_t ns, uint64_t lost);
int ada_ctf_stream_close(struct ada_ctf_stream *stream); /* 0 or -errno */
#endif
