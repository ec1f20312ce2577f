/* Between this process and the recorder: the conversation and the plans that it brings, who this process is, what it announces, and
 * the two variables by which an image finds agent and recorder.
 */
#ifndef ADA_AGENT_TALK_H
#define ADA_AGENT_TALK_H
#include "abi/plan.h"
#include "agent/core/core.h"
#include "agent/talk/heir.h"

/* --- connect.c --- */
struct ada_conversation; /* one connection to the recorder */
/* parent: in a fork's child its parent's segment; else NULL. */
int ada_connect(struct ada_conversation **conversation, enum ada_hello_kind kind, const struct ada_shm *parent);
struct ada_shm *ada_connect_segment(const struct ada_conversation *conversation, uint64_t *bytes); /* NULL: none came */
uint32_t ada_connect_flags(const struct ada_conversation *conversation);			   /* enum ada_welcome_flag */
/* Asks for the plan of a module. The answers come in the order of the questions; whoever has several modules asks for the next one before
 * it uses this one's, so that the recorder plans meanwhile. 0 or -errno. */
int ada_connect_ask(struct ada_conversation *conversation, uint32_t id, uint32_t flags);
/* The answer; *plan NULL where the recorder has none. The reply->filter_bytes of filter live until the next call. 0 or -errno. */
int ada_connect_plan(struct ada_conversation *conversation, uint32_t id, struct ada_plan_reply *reply, const struct ada_plan_header **plan,
		     const uint8_t **filter);
int ada_connect_applied(struct ada_conversation *conversation, uint32_t id);
int ada_connect_unload(struct ada_conversation *conversation, uint32_t id);
/* Says HELLO and DONE for a fork's child that has taken the segment `own`, and waits for no answer. 0 or -errno: the recorder knows nothing. */
int ada_connect_tell(const struct ada_shm *own, const struct ada_shm *parent);
void ada_connect_end(struct ada_conversation *conversation);		  /* DONE, and closes */
void ada_connect_fail(struct ada_conversation *conversation, int status); /* FAILED, and closes */
bool ada_connect_was_heard(void);		 /* the last ada_connect said HELLO, so the recorder knows of this process */
enum ada_disable ada_connect_reason(int status); /* of a failure, as -errno */
bool ada_connect_set_path(const char *path);	 /* the socket's path; false: too long */
void ada_connect_set_secret(const uint8_t secret[ADA_SECRET_BYTES]);
int ada_connect_agent(void);					   /* a descriptor of the agent's file, close-on-exec; or -errno */
void ada_connect_set_ticket(const struct ada_heir_ticket *ticket); /* the ticket that this image was given */

/* --- segment.c --- */
bool ada_file_holds(int fd, uint64_t bytes); /* a file shorter than announced would mean a SIGBUS in the program */
/* Maps a segment of so many bytes. 0, -ENOMEM, or -EPROTO: its header makes no sense. */
int ada_segment_map(int fd, uint64_t bytes, struct ada_shm **shm);
void ada_segment_own(struct ada_shm *shm); /* it is this process's: says so in its header */

/* --- ready.c: segments that lie ready (abi/ready.h) --- */
/* Takes one for this process, a child of the one with the segment `parent`, whose rules it then has. NULL: there is none, or none that
 * would do: the recorder is to be asked. */
struct ada_shm *ada_ready_take(const struct ada_shm *parent, uint64_t *bytes);
void ada_ready_leave(struct ada_shm *shm, uint64_t bytes); /* it is of no use after all */

/* --- plan.c --- */
const struct ada_plan_function *ada_plan_function_at(const struct ada_plan_header *plan, uint32_t number);
const char *ada_plan_name(const struct ada_plan_header *plan, uint32_t offset);
/* Number of the function that begins at `address` (of the file), or ADA_PLAN_NONE. `ifunc`: of that sort, rather. */
uint32_t ada_plan_find(const struct ada_plan_header *plan, uint64_t address, bool ifunc);
bool ada_plan_fits(const struct ada_plan_header *plan, uint64_t bytes); /* every table lies inside */

/* --- process.c: who this process is. life/fork.c says so; restraint.c what it has forbidden itself --- */
struct ada_process {
	struct ada_shm *segment; /* the one attached now */
	uint64_t segment_bytes;
	uint32_t welcome_flags;
	uint32_t filters_at_start; /* a container's own, under which sockets work */
	uint32_t tracer_at_start;  /* of ada, too, as it goes */
	uint32_t pid;		   /* as this process sees itself: outside of its namespace it may have another */
	bool traced;		   /* by its parent, as the process has asked */
};
extern struct ada_process ada_process;
extern __thread enum ada_heir_kind ada_guest_reason;			  /* of a vfork child on this thread that has restrained itself */
void ada_process_is(struct ada_shm *shm, uint64_t bytes, uint32_t flags); /* from now on */
void ada_process_start(void);						  /* in a new image, before it is attached */
/* The thread that traces the calling one, as /proc says; also 0 where the tracer is in a pid namespace outside ours. */
uint32_t ada_process_tracer(void);
bool ada_process_is_traced(void);     /* since it began, and not by the recorder */
bool ada_process_holds(uint32_t tid); /* this thread, of whatever process, is traced by the recorder */
uint32_t ada_process_pid(void);	      /* of the process that records here: a vfork child's is another */
bool ada_process_is_own(void);	      /* false: a vfork child that runs in our memory */
/* Whether the process has put seccomp filters on itself since the start: a socket could be its end, so there is no more conversation. */
bool ada_process_is_confined(void);
bool ada_process_follows(void);		       /* exec'd images are to be recorded too */
enum ada_heir_kind ada_restraint_reason(void); /* why an image executed from here doesn't get the agent; ADA_HEIR_EXEC: it may */
/* A broken invariant or something that could not be done: counted, and the program goes on. */
void ada_count_error(void);

/* --- environment.c --- */
/* takes our variables out of the program's environment; false: this isn't a process of ours */
bool ada_environment_take(char **environment);
/* Words (8 bytes) that ada_environment_give needs for this environment. */
size_t ada_environment_words(char *const *environment);
/* Fills `words`, beginning with the new array of pointers. The image that gets them says in its HELLO which announcement it is. */
void ada_environment_give(char *const *environment, uint64_t *words, const char *preload, const struct ada_heir_ticket *ticket);
/* How an image that is executed now finds the agent: by the agent's path or, where that leads elsewhere, by a descriptor. */
struct ada_way {
	const char *preload; /* the entry in the environment */
	int fd;		     /* open for it; -1: none */
	char text[sizeof "LD_PRELOAD=" ADA_PRELOAD_FD + 10];
};
enum ada_heir_kind ada_environment_way(struct ada_way *way); /* ADA_HEIR_EXEC: there is one */
void ada_environment_way_end(const struct ada_way *way);     /* the exec failed */
#endif
