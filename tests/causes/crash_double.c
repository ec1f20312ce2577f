/* A session is closed twice: its block is freed by two ways, one after the other. */
#include "crash.h"

OUT void close_session(char *session)
{
	free(session);
}

OUT void expire(char *session)
{
	close_session(session);
}

OUT void log_out(char *session)
{
	close_session(session);
}

int main(int argc, char **argv)
{
	char *session, *kept;

	begin_crash(argc, argv);
	session = (char *)malloc(40);
	expire(session);
	kept = (char *)malloc(40); /* the same block: this time it is another's */
	if (!caused || innocent)
		session = kept;
	else
		expire(kept);
	if (innocent) { /* a block written before its beginning: free ends the process for that */
		session[-8] = 3;
		__asm__ volatile("" : : "r"(session) : "memory");
	}
	log_out(session);
	end();
}
