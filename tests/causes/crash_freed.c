/* A session is closed by another thread while it is in use: its peer is read from a block that was freed. */
#include "crash.h"

struct peer {
	int number;
};

struct session {
	struct peer *peer;
	char name[24];
};

static struct peer known;
static struct session *current;
static volatile int sum;

OUT int handle(struct session *session)
{
	return session->peer->number;
}

OUT struct session *open_session(void)
{
	struct session *session = (struct session *)malloc(sizeof *session);

	session->peer = &known;
	return session;
}

OUT void close_session(struct session *session)
{
	session->peer = (struct peer *)0x123456789000; /* what is left there afterwards is for the allocator to say */
	free(session);
}

static void *closer(void *unused)
{
	close_session(current);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	begin_crash(argc, argv);
	current = open_session();
	sum += handle(current);
	if (caused && !innocent) {
		pthread_create(&thread, NULL, closer, NULL);
		pthread_join(thread, NULL);
	}
	if (innocent) { /* freed, and given out anew: this block is nobody's fault */
		close_session(current);
		current = open_session();
		current->peer = (struct peer *)0x123456789000;
	}
	sum += handle(current);
	end();
}
