/* A conversation with an agent, for the files that lead it: conversation.c from one end to the other, greet.c its HELLO and the answer. */
#ifndef ADA_RECORDER_TALK_H
#define ADA_RECORDER_TALK_H
#include "recorder/state/state.h"

struct ada_talk {
	struct ada_recorder *recorder;
	struct ada_provider *provider;
	int socket;
	pid_t pid;		/* the peer's, as the kernel says */
	int pidfd;		/* the peer's, or -1 */
	bool start, fork, late; /* of a program, whose first modules are told of; of a fork's child; of a late patch */
	uint32_t version;	/* of the policy when it began */
	uint32_t ready;		/* number of the segment that it had taken and that was adopted; 0: none */
};

/* Sends a message of one or two parts, with a descriptor unless fd is -1. 0 or -EPROTO. */
int ada_talk_reply(int socket, const void *first, size_t first_bytes, const void *second, size_t second_bytes, int fd);
/* Answers HELLO. talk->provider is NULL where nothing more is to be said. 0, or < 0: the answer didn't get through. */
int ada_talk_greet(struct ada_talk *talk, const struct ada_hello *hello);
#endif
