/* What the descriptors of a process lead to, as the kernel tells it, from outside: the process does nothing for it, and no descriptor of it
 * is opened or copied here. Bounded in number and time; what the bounds leave out is not there, and `partly` says so. */
#ifndef ADA_RECORDER_LOOK_H
#define ADA_RECORDER_LOOK_H
#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/array.h"

#define ADA_LOOK_DESCRIPTORS 1024   /* of one process */
#define ADA_LOOK_PROCESSES 64	    /* that other ends are looked for in */
#define ADA_LOOK_ENDS 8		    /* of one descriptor */
#define ADA_LOOK_CPU_NS 50000000ull /* of the thread that looks */
#define ADA_LOOK_NS 1000000000ull   /* and in all: what was found first is to be of the same time */

struct ada_end { /* another descriptor that has the other end of a pipe or of a pair of sockets */
	pid_t pid;
	int number;
};
struct ada_lead {
	int number;
	char *target;	      /* as /proc/PID/fd has it */
	bool reads, writes;   /* what it was opened for */
	uint64_t inode;	      /* of a pipe or socket; else 0 */
	const char *protocol; /* of a socket: "tcp", "udp" or "unix"; NULL: another, or not known */
	char *local, *peer;   /* addresses; NULL: it has none, or not known */
	bool listens, accepted;
	uint64_t peer_inode; /* of a Unix socket: the other socket; 0: none, or not known */
	ADA_ARRAY(struct ada_end) ends;
};
struct ada_look {
	pid_t pid;
	uint64_t start_ns, end_ns, start_cpu_ns;
	bool addresses; /* they are wanted */
	bool partly, late;
	ADA_ARRAY(struct ada_lead) leads; /* by number */
};

/* `look` begins with pid and addresses. Ends are looked for in the process itself and in the others. 0 or -errno: nothing can be seen of the
 * process, or no memory. The caller frees the look, also then. */
int ada_look_at(struct ada_look *look, const pid_t *others, size_t count);
void ada_look_free(struct ada_look *look);
bool ada_look_in_time(struct ada_look *look); /* false, and `partly`, once it has taken too long */
/* As descriptors.json has it (docs/format.md), without times. NULL: no memory. */
json_object *ada_lead_json(const struct ada_lead *lead, bool paths);

/* --- address.c: fills in what the kernel tells of sockets ---------------------------------------------------------------- */
void ada_look_sockets(struct ada_look *look);
#endif
