/* Checks everything in a session that can be checked: each file by itself, and the files against each other. */
#ifndef ADA_QUERY_VERIFY_H
#define ADA_QUERY_VERIFY_H
#include "query/session/session.h"

struct ada_finding {
	const char *file;  /* below the session's directory; "." for itself */
	const char *check; /* a word, the same every time */
	bool ok;
	const char *message; /* what is wrong, or worth knowing; "" */
};

struct ada_book {
	const struct ada_thread *thread;
	struct atf_books books;
};

struct ada_verify_mutes;

struct ada_verify {
	const struct ada_session *session;
	void (*found)(void *context, const struct ada_finding *finding);
	void *context;
	uint64_t checks, failures;
	struct ada_verify_mutes *mutes;	  /* of the process that is being checked; NULL: none */
	ADA_ARRAY(struct ada_book) books; /* of each thread, in the session's order; the caller's to free */
};

/* Checks session.json, each manifest, each module table, and through ada_verify_thread each thread. 0 or -errno. */
int ada_verify_session(struct ada_verify *verify, struct ada_error *error);
/* Checks one thread: its files, and whether the manifest, the modules and the depths agree with them. */
int ada_verify_thread(struct ada_verify *verify, const struct ada_thread *thread);
/* Its detail files, each by itself and against its index. */
void ada_verify_thread_detail(struct ada_verify *verify, const struct ada_thread *thread);
/* What its first events add up to, where a file says that: the same once more from the events. 0 or -errno. */
int ada_verify_thread_sums(struct ada_verify *verify, const struct ada_thread *thread);
/* The manifest's windows against the detail files of all threads: bounds, counts, no hole, and its marks. 0 or -ENOMEM. */
int ada_verify_windows(struct ada_verify *verify, const struct ada_process *process);

/* sched.atf, where there is one. */
void ada_verify_sched(struct ada_verify *verify);

/* Whether the file is as it was written: its own checksum (base/seal.h). `file` is what it is called, `document` what it holds. */
void ada_verify_seal(struct ada_verify *verify, const char *directory, const char *name, const char *file, const json_object *document);
/* descriptors.json, where there is one. */
void ada_verify_descriptors(struct ada_verify *verify, const struct ada_process *process);
/* Each module's table, and its checksum in the manifest. */
void ada_verify_tables(struct ada_verify *verify, const struct ada_process *process);

/* For all of them. */
void ada_verify_found(struct ada_verify *verify, const char *file, const char *check, bool ok, const char *format, ...)
	__attribute__((format(printf, 5, 6)));
/* Context of an atf_finding, which keeps what libatf finds in a file until the file has been read whole. A recorder that finishes a file
 * cuts off what was allocated ahead; where that hits a page which is being looked at, the file is looked at again:
 *
 *	do {
 *		ada_verify_file_begin(&file);
 *		...
 *	} while (ada_verify_file_again(&file));
 */
struct ada_verify_finding {
	const char *check; /* a literal */
	bool ok;
	char *message;
};
struct ada_verify_file {
	struct ada_verify *verify;
	const char *file;
	bool unfinished; /* the file has no footer, and nobody says that it should have one */
	unsigned int tries;
	ADA_ARRAY(struct ada_verify_finding) findings;
};
void ada_verify_file_found(void *file, const char *check, bool ok, const char *message);
void ada_verify_file_begin(struct ada_verify_file *file);
bool ada_verify_file_again(struct ada_verify_file *file); /* false: it was read whole, and what was found is passed on */
#endif
