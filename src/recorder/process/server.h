/* The sockets that agents connect to: one in a private directory, and one of an abstract name, for agents that can no longer reach the
 * directory (abi/wire.h). SOCK_SEQPACKET, one thread a conversation. */
#ifndef ADA_RECORDER_SERVER_H
#define ADA_RECORDER_SERVER_H
#include "recorder/state/state.h"

struct ada_server;
#define ADA_SERVER_IDLE_SECONDS 60 /* of a conversation: applying a large plan takes the agent its time */
int ada_server_open(struct ada_server **server, struct ada_recorder *recorder, struct ada_error *error);
const char *ada_server_path(const struct ada_server *server);
const char *ada_server_entry(const struct ada_server *server);	   /* what ADA_SOCKET holds: the path and the secret */
#define ADA_SERVER_PREFIX "ada-"				   /* of the directory's name */
const char *ada_server_directory(const struct ada_server *server); /* private to this recorder, gone with the server */
/* Gives a socket a name in it, mode 0600, and listens. 0 or -errno. */
int ada_server_bind(const struct ada_server *server, int socket, const char *name, int backlog);
void ada_server_unbind(const struct ada_server *server, const char *name);
size_t ada_server_busy(struct ada_server *server); /* conversations under way, and agents that wait for one */
/* Ends all conversations, waits for their threads, removes the socket. */
void ada_server_close(struct ada_server *server);

/* Says whether the agent at that socket waits for an answer: then the server tells it now and then that the recorder is at work. NULL: a
 * conversation that no server began. */
void ada_server_owes(struct ada_server *server, int socket, bool owes);
enum ada_talk_stage {
	ADA_TALK_GREETED = 1, /* its HELLO was heard, and all is done that follows from it */
	ADA_TALK_TOLD,	      /* all that it says was heard: the provider's modules are as they were when the agent went on */
};
/* The calling thread's conversation has got so far. GREETED: its peer has its segment; what comes now may take long, and has no precedence
 * any more. NULL: a conversation that no server began. */
void ada_server_reached(struct ada_server *server, int socket, enum ada_talk_stage stage);
/* Waits, for some seconds at most, until those of the conversations of `pid` that were accepted before this one have got so far, or are
 * over: who doesn't wait for answers may begin the next one, and fork, before the first was heard; but nobody is to hear of an image before
 * the fork that it comes from, nor of a child before its parent. */
void ada_server_await(struct ada_server *server, int socket, pid_t pid, enum ada_talk_stage stage);
/* conversation.c: one conversation from HELLO to its end. */
void ada_conversation_run(struct ada_recorder *recorder, int socket);
#endif
