/* Who says HELLO, and what becomes of it: a program's first process or its next image gets a provider and asks on, a fork's child gets one or
 * has its segment already, a known process goes on. */
#include "recorder/process/talk.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "recorder/host/process.h"
#include "recorder/host/say.h"
#include "recorder/policy/policy.h"
#include "recorder/process/grower.h"
#include "recorder/process/heir.h"
#include "recorder/process/life.h"
#include "recorder/process/server.h"
#include "recorder/process/stock.h"
#include "recorder/state/provider.h"

int ada_talk_reply(int socket, const void *first, size_t first_bytes, const void *second, size_t second_bytes, int fd)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct iovec parts[] = { { (void *)first, first_bytes }, { (void *)second, second_bytes } };
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = second_bytes ? 2 : 1 };
	ssize_t sent;

	if (fd >= 0) {
		control.head = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS };
		memcpy(CMSG_DATA(&control.head), &fd, sizeof fd);
		message.msg_control = &control;
		message.msg_controllen = sizeof control;
	}
	while ((sent = sendmsg(socket, &message, MSG_NOSIGNAL)) < 0 && errno == EINTR)
		;
	return sent == (ssize_t)(first_bytes + second_bytes) ? 0 : -EPROTO;
}

static int welcome(struct ada_talk *talk, int agent_fd)
{
	struct ada_welcome message = { .head = { ADA_MESSAGE_WELCOME, sizeof message }, .wire_version = ADA_WIRE_VERSION };

	if (talk->provider) {
		message.flags = ADA_WELCOME_RECORD | (talk->recorder->options->follow ? ADA_WELCOME_FOLLOW : 0);
		message.shm_bytes = talk->provider->segment.total_bytes;
	} else if (talk->fork && talk->recorder->options->follow) {
		message.flags = ADA_WELCOME_FOLLOW; /* no room for a segment, now */
	}
	return ada_talk_reply(talk->socket, &message, sizeof message, NULL, 0, agent_fd);
}

/* Sends, first of all, the page that the agent looks at while it waits for us. A fork's child has the page from its parent. */
static void present(const struct ada_talk *talk)
{
	static const struct ada_message message = { ADA_MESSAGE_PRESENCE, sizeof message };

	/* An agent that has given up by now gets neither this nor the answer; what the agent has said instead is still to be heard. */
	ada_talk_reply(talk->socket, &message, sizeof message, NULL, 0, talk->recorder->presence.fd);
}

/* The parent of a program that a vfork's or posix_spawn's child became; 0 where that parent isn't traced. */
static pid_t traced_parent(const struct ada_talk *talk)
{
	pid_t parent = ada_process_parent(talk->pid);

	return ada_provider_of(talk->recorder, parent) ? parent : 0;
}

/* Which image of the parent: the parent may have become another program since it forked. One without a number has said HELLO, too; and one
 * with a number may have it since a moment ago: it is not adopted before its own greeting is over. */
static struct ada_provider *parent_of(const struct ada_talk *talk, const struct ada_hello *hello)
{
	struct ada_recorder *recorder = talk->recorder;
	struct ada_provider *parent;

	ada_server_await(recorder->server, talk->socket, (pid_t)hello->parent_pid, ADA_TALK_GREETED);
	parent = ada_provider_numbered(recorder, hello->provider);
	if (parent && (parent->pid == (pid_t)hello->parent_pid || hello->provider & ADA_READY_BIT))
		return parent;
	return ada_provider_of(recorder, (pid_t)hello->parent_pid);
}

/* Sends the agent's own file, for what the peer executes. */
static int hand_over(struct ada_talk *talk)
{
	int fd = talk->recorder->options->follow ? open(talk->recorder->agent, O_RDONLY | O_CLOEXEC) : -1;
	int status = welcome(talk, fd);

	if (fd >= 0)
		close(fd);
	return status;
}

static void follow_rules(const struct ada_talk *talk, const struct ada_provider *parent)
{
	/* Without memory for the tables the process is recorded, but no rule marks. */
	if (talk->provider && ada_policy_provider(talk->recorder->policy, talk->provider, parent))
		ada_say("ada: process %d: no memory for the marking policy: nothing will be marked\n", talk->pid);
}

/* Once all is known that the parent's agent had said of its modules: it went on, and forked, while that was written down. */
static void settle(const struct ada_talk *talk, const struct ada_provider *parent)
{
	if (parent)
		ada_server_await(talk->recorder->server, talk->socket, parent->pid, ADA_TALK_TOLD);
	ada_provider_settle(talk->provider);
}

/* Behind the answer: each of them may take the CPU from this thread, and a process waits for that. So the main thread, which comes by anyway,
 * is only called for the program itself, whose first manifest is then written meanwhile. What a start took from the stock is
 * made anew at its end (conversation.c); forks come in crowds. */
static void wake_others(const struct ada_talk *talk)
{
	ada_grower_wake(talk->recorder); /* now, not when the main thread comes by: the program is about to run */
	if (talk->pid == talk->recorder->main_pid)
		ada_recorder_wake(talk->recorder);
	if (talk->fork)
		ada_stock_refill(talk->recorder->stock, true);
}

static struct ada_newcomer newcomer_of(struct ada_talk *talk, const struct ada_hello *hello, struct ada_provider *parent)
{
	struct ada_newcomer newcomer = { .pid = talk->pid,
					 .thread_id = (pid_t)hello->thread_id,
					 .parent_pid = parent ? parent->pid : 0,
					 .pidfd = talk->pidfd,
					 .parent = parent };

	talk->pidfd = -1; /* the provider's from now on */
	return newcomer;
}

/* A fork's child that has taken a segment: it runs, and hears no answer. */
static int adopt(struct ada_talk *talk, const struct ada_hello *hello)
{
	struct ada_recorder *recorder = talk->recorder;
	struct ada_taken taken = { .number = hello->ready };
	struct ada_provider *parent = parent_of(talk, hello);
	struct ada_newcomer newcomer;
	struct ada_error error = { "" };
	int agent_fd, status = ada_stock_adopt(recorder->stock, taken.number, &taken.segment);

	if (status == -ENOENT)
		ada_recorder_note_unrecorded(recorder, talk->pid, NULL, "the memory that it had taken was given up before it was heard of");
	if (status)
		return status;
	talk->ready = taken.number;
	talk->fork = true;
	if (parent) {
		newcomer = newcomer_of(talk, hello, parent);
		newcomer.taken = &taken;
		status = ada_provider_start(&talk->provider, recorder, &newcomer, &agent_fd, &error);
	} else {
		status = ada_error_set(&error, ESRCH, "the process that forked it is not known");
		ada_segment_leave(&taken.segment);
		ada_segment_destroy(&taken.segment);
	}
	if (status) {
		talk->provider = NULL;
		ada_recorder_note_unrecorded(recorder, talk->pid, NULL, error.text);
	} else {
		follow_rules(talk, parent);
		settle(talk, parent);
	}
	ada_stock_entered(recorder->stock, taken.number);
	wake_others(talk);
	return status;
}

int ada_talk_greet(struct ada_talk *talk, const struct ada_hello *hello)
{
	struct ada_recorder *recorder = talk->recorder;
	struct ada_provider *known = ada_provider_of(recorder, talk->pid), *last = known, *parent = NULL;
	struct ada_newcomer newcomer;
	struct ada_error error = { "" };
	int agent_fd = -1;
	bool main_program;
	int status;

	if (hello->wire_version != ADA_WIRE_VERSION) {
		ada_recorder_note_unrecorded(recorder, talk->pid, NULL, "its agent is of another version of ada");
		return welcome(talk, -1);
	}
	if (hello->kind == ADA_HELLO_AGENT)
		return hand_over(talk);
	if (hello->provider != ADA_NONE && hello->provider & ADA_READY_BIT)
		ada_stock_await(recorder->stock, hello->provider & ADA_READY_NUMBER);
	if (hello->kind == ADA_HELLO_FORK && hello->ready)
		return adopt(talk, hello);
	if (hello->kind == ADA_HELLO_START)
		ada_heirs_heard(recorder, hello, talk->pid);
	if (hello->kind == ADA_HELLO_RESUME) {
		talk->provider = known;
		return known ? welcome(talk, -1) : -EPROTO;
	}
	if (hello->kind == ADA_HELLO_FORK) {
		parent = parent_of(talk, hello);
		if (!parent) {
			ada_recorder_note_unrecorded(recorder, talk->pid, NULL, "the process that forked it is not known");
			return -EPROTO;
		}
	} else if (hello->kind != ADA_HELLO_START) {
		return -EPROTO;
	}
	if (known && ada_provider_gone(known))
		known = NULL;		     /* another process, which had this pid before */
	pthread_mutex_lock(&recorder->lock); /* held until the spawned program's pid is noted */
	main_program = talk->pid == recorder->main_pid;
	recorder->main_heard |= main_program;
	pthread_mutex_unlock(&recorder->lock);
	if (!recorder->options->follow && !main_program)
		return welcome(talk, -1);
	if (known && !parent)
		ada_provider_note_replaced(known);
	talk->start = !parent;
	talk->fork = parent;
	if (talk->start)
		present(talk);
	newcomer = newcomer_of(talk, hello, parent);
	if (!parent)
		newcomer.parent_pid = known ? known->parent_pid : traced_parent(talk);
	if (ada_provider_start(&talk->provider, recorder, &newcomer, &agent_fd, &error)) {
		ada_recorder_note_unrecorded(recorder, talk->pid, NULL, error.text);
		talk->provider = NULL;
	} else if (last && !parent && __atomic_load_n(&last->replaced, __ATOMIC_ACQUIRE)) {
		__atomic_store_n(&last->continued, true, __ATOMIC_RELAXED);
	}
	follow_rules(talk, parent); /* before the agent has the segment */
	status = welcome(talk, agent_fd);
	if (talk->provider)
		settle(talk, parent);
	wake_others(talk);
	if (agent_fd >= 0)
		close(agent_fd);
	return status;
}
