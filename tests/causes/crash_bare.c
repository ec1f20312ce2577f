/* As crash_freed.c, made without debug information, of which no types are known: symbols, and the code, are all there is. The second argument
 * says what became of the block. */
#include "crash.h"

struct peer {
	int number;
};

struct session {
	long used;
	struct peer *peer;
};

static struct peer known;
static struct peer *volatile wild;
static volatile int sum;

OUT int handle(long first, struct session *session)
{
	return (int)first + session->peer->number;
}

/* Has no argument: what is in the registers is what was there before. */
OUT int handle_wild(void)
{
	return wild->number;
}

OUT void close_session(struct session *session)
{
	free(session);
	*(struct peer *volatile *)&session->peer = (struct peer *)0x123456789000; /* what the allocator may have there */
}

/* What it looks at was loaded before the block was freed, and is wrong by itself. */
OUT int handle_and_close(long first, struct session *session)
{
	struct peer *peer = session->peer;

	close_session(session);
	return (int)first + peer->number;
}

static void *closer(void *session)
{
	close_session(session);
	return NULL;
}

static struct session *open_session(void)
{
	struct session *session = (struct session *)malloc(sizeof *session);

	session->peer = &known;
	return session;
}

int main(int argc, char **argv)
{
	struct session *session;
	pthread_t thread;

	begin_crash(argc, argv);
	session = open_session();
	sum += handle(1, session);
	if (!strcmp(argv[2], "freed")) {
		pthread_create(&thread, NULL, closer, session);
		pthread_join(thread, NULL);
		sum += handle(1, session);
	} else if (!strcmp(argv[2], "stale")) {
		close_session(session);
		wild = (struct peer *)0x123456789000;
		__asm__ volatile("" : : "D"(session), "S"(session));
		sum += handle_wild();
	} else if (!strcmp(argv[2], "anew")) {
		close_session(session);
		session = open_session();
		session->peer = (struct peer *)0x123456789000;
		sum += handle(1, session);
	} else {
		session->peer = (struct peer *)0x123456789000;
		sum += handle_and_close(1, session);
	}
	end();
}
