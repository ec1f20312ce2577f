/* The agent's end of the socket: one conversation of abi/wire.h, from HELLO to DONE.
 *
 * The descriptor is close-on-exec and lives only as long as the conversation. Every wait has an end, and consists of short waits. So the
 * agent notices a recorder that dies, even if something still holds its socket open; it gives up a stopped recorder after some seconds,
 * and a hanging one after more. Each time the program goes on untraced.
 */
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include "agent/ground/mem.h"
#include "agent/ground/sys.h"
#include "agent/talk/talk.h"

#define ANSWER_NS 20000000000ull       /* a recorder that lives has many to answer on a busy machine, and says so */
#define MESSAGE_BYTES_MAX (512u << 10) /* a plan's filter has a bit a hook */

struct ada_conversation { /* the first bytes of a mapping of its own */
	int socket;
	uint32_t flags; /* enum ada_welcome_flag */
	struct ada_shm *shm;
	uint64_t shm_bytes;
	int agent; /* WELCOME's descriptor of the agent's file; -1: none */
	uint8_t message[MESSAGE_BYTES_MAX] __attribute__((aligned(64)));
};

static struct sockaddr_un address = { .sun_family = AF_UNIX };
static uint8_t secret[ADA_SECRET_BYTES];
static struct ada_heir_ticket own_ticket; /* the ticket that this image was given */
static bool heard;
static uint32_t first_user; /* the user at the program's beginning: the program's may change, its recorder's doesn't */

bool ada_connect_set_path(const char *path)
{
	return *path && ada_string_copy(address.sun_path, sizeof address.sun_path, path) == ada_string_bytes(path);
}

void ada_connect_set_secret(const uint8_t given[ADA_SECRET_BYTES])
{
	memcpy(secret, given, sizeof secret);
}

void ada_connect_set_ticket(const struct ada_heir_ticket *ticket)
{
	own_ticket = *ticket;
}

/* How long we have waited for one answer. */
struct patience {
	uint64_t ns;
	struct ada_stand stand;
};

/* The socket's own waits run out after ADA_WAIT_NS. False: this was the last one. */
static bool is_worth_waiting(struct patience *patience)
{
	struct ada_shm *shm = ada_core_shm();

	patience->ns += ADA_WAIT_NS;
	if (ada_presence_gone())
		return false;
	if (patience->ns < ANSWER_NS && !ada_presence_stands_yet() && !ada_presence_stands(&patience->stand, ADA_WAIT_NS))
		return true;
	if (shm)
		__atomic_fetch_add(&shm->waits_given_up, 1, __ATOMIC_RELAXED);
	return false;
}

static int message_send(int socket, const struct ada_message *message)
{
	struct patience patience = { 0 };
	long sent;

	do
		sent = ada_sys6(SYS_sendto, socket, (long)message, message->bytes, MSG_NOSIGNAL, 0, 0);
	while (sent == -EINTR || (sent == -EAGAIN && is_worth_waiting(&patience)));
	return sent == message->bytes ? 0 : ada_sys_failed(sent) ? (int)sent : -EPROTO;
}

/* Receives one message into conversation->message. *fd: its descriptor, or -1. */
static int message_receive_any(struct ada_conversation *conversation, int *fd)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int) * 4)];
	} control;
	struct iovec vector = { conversation->message, MESSAGE_BYTES_MAX };
	struct msghdr header = { .msg_iov = &vector, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control };
	const struct ada_message *message = (void *)conversation->message;
	struct patience patience = { 0 };
	long got;

	*fd = -1;
	do
		got = ada_sys4(SYS_recvmsg, conversation->socket, (long)&header, MSG_CMSG_CLOEXEC, 0);
	while (got == -EINTR || (got == -EAGAIN && is_worth_waiting(&patience)));
	if (ada_sys_failed(got))
		return got;
	if (got == 0)
		return -ECONNRESET;
	for (struct cmsghdr *part = CMSG_FIRSTHDR(&header); part; part = NULL) {
		int *fds;

		if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
			continue;
		fds = (int *)CMSG_DATA(part);

		*fd = fds[0];
		for (size_t i = 1; i < (part->cmsg_len - CMSG_LEN(0)) / sizeof(int); i++)
			ada_sys_close(fds[i]);
	}
	if (header.msg_flags & MSG_CTRUNC) { /* the recorder's messages fit: the process may have no descriptor left */
		if (*fd >= 0)
			ada_sys_close(*fd);
		return -EMFILE;
	}
	if ((header.msg_flags & MSG_TRUNC) || got < (long)sizeof *message || message->bytes != got) {
		if (*fd >= 0)
			ada_sys_close(*fd);
		return -EPROTO;
	}
	return 0;
}

static int presence_take(int fd)
{
	int status = !ada_file_holds(fd, ADA_PRESENCE_BYTES) ? -EPROTO : ada_presence_take(fd) ? 0 : -ENOMEM;

	if (fd >= 0)
		ada_sys_close(fd);
	return status;
}

/* A recorder that still works on its answer says so now and then: then the time for the answer begins anew. */
static int message_receive(struct ada_conversation *conversation, uint32_t type, uint32_t bytes_min, int *fd)
{
	const struct ada_message *message = (void *)conversation->message;
	bool more;
	int status;

	do {
		status = message_receive_any(conversation, fd);
		more = !status && message->type == ADA_MESSAGE_WAIT && *fd < 0;
		if (!status && message->type == ADA_MESSAGE_PRESENCE) {
			status = presence_take(*fd);
			*fd = -1;
			more = true;
		}
	} while (!status && more);
	if (status || (message->type == type && message->bytes >= bytes_min))
		return status;
	if (*fd >= 0)
		ada_sys_close(*fd);
	return -EPROTO;
}

static void timeout_set(int socket, int option)
{
	struct timeval timeout = { .tv_usec = ADA_WAIT_NS / 1000 };

	ada_sys6(SYS_setsockopt, socket, SOL_SOCKET, option, (long)&timeout, sizeof timeout, 0);
}

static int welcome(struct ada_conversation *conversation, bool segment)
{
	const struct ada_welcome *message = (void *)conversation->message;
	int fd, status = message_receive(conversation, ADA_MESSAGE_WELCOME, sizeof *message, &fd);

	if (status)
		return status;
	conversation->flags = message->flags;
	if (message->wire_version != ADA_WIRE_VERSION)
		status = -EPROTO;
	else if (segment && (message->flags & ADA_WELCOME_RECORD)) {
		conversation->shm_bytes = message->shm_bytes;
		status = ada_segment_map(fd, message->shm_bytes, &conversation->shm);
		if (!status)
			ada_segment_own(conversation->shm);
	}
	if (!status && !segment) {
		conversation->agent = fd;
		return 0;
	}
	if (fd >= 0)
		ada_sys_close(fd);
	return status;
}

/* The agent does to the program what the other side says: so that must be the program's own user, or root. Another user's socket may be
 * there when the recorder has gone, and its directory's name is free again. */
static bool peer_is_recorder(int socket)
{
	struct ucred peer = { 0 };
	uint32_t bytes = sizeof peer;

	if (ada_sys_failed(ada_sys6(SYS_getsockopt, socket, SOL_SOCKET, SO_PEERCRED, (long)&peer, (long)&bytes, 0)))
		return false;
	return peer.uid == 0 || peer.uid == first_user || peer.uid == (uint32_t)ada_sys4(SYS_geteuid, 0, 0, 0, 0);
}

static void conversation_free(struct ada_conversation *conversation)
{
	ada_sys_close(conversation->socket);
	if (conversation->agent >= 0)
		ada_sys_close(conversation->agent);
	ada_sys_unmap(conversation, sizeof *conversation);
}

bool ada_connect_was_heard(void)
{
	return heard;
}

enum ada_disable ada_connect_reason(int status)
{
	return ada_presence_gone() ? ADA_DISABLE_NO_RECORDER :
	       status == -ENOMEM   ? ADA_DISABLE_NO_MEMORY :
	       status == -EPROTO   ? ADA_DISABLE_PROTOCOL :
	       status == -EMFILE   ? ADA_DISABLE_NO_FILES :
	       status == -EAGAIN   ? ADA_DISABLE_NO_ANSWER :
				     ADA_DISABLE_NO_RECORDER;
}

/* The recorder can't tell an agent that gives up from a process that ends. */
void ada_connect_fail(struct ada_conversation *conversation, int status)
{
	struct ada_failed message = { .head = { ADA_MESSAGE_FAILED, sizeof message }, .reason = ada_connect_reason(status) };

	message_send(conversation->socket, &message.head);
	conversation_free(conversation);
}

/* Connects by the path or, where that is out of reach, by the abstract name, which knows neither roots nor users. */
static long recorder_reach(int socket)
{
	struct sockaddr_un abstract = { .sun_family = AF_UNIX };
	size_t bytes = ada_string_bytes(address.sun_path);
	struct patience patience = { 0 };
	long status, second;

	do
		status = ada_sys4(SYS_connect, socket, (long)&address, sizeof address, 0);
	while (status == -EINTR || (status == -EAGAIN && is_worth_waiting(&patience)));
	if (!status || bytes >= sizeof abstract.sun_path)
		return status;
	memcpy(abstract.sun_path + 1, address.sun_path, bytes);
	do
		second = ada_sys4(SYS_connect, socket, (long)&abstract, offsetof(struct sockaddr_un, sun_path) + 1 + bytes, 0);
	while (second == -EINTR || (second == -EAGAIN && is_worth_waiting(&patience)));
	return second ? status : 0;
}

static struct ada_hello hello_of(enum ada_hello_kind kind, const struct ada_shm *parent)
{
	const struct ada_heir_ticket *ticket = kind == ADA_HELLO_START ? &own_ticket : &ada_heir_none;
	struct ada_hello hello = { .head = { ADA_MESSAGE_HELLO, sizeof hello },
				   .wire_version = ADA_WIRE_VERSION,
				   .kind = kind,
				   .parent_pid = parent ? parent->pid : 0,
				   .thread_id = ada_sys_tid(),
				   .counter = ada_sys_counter(),
				   .provider = parent ? parent->provider : ticket->provider,
				   .heir = ticket->heir,
				   .generation = ticket->generation };

	memcpy(hello.secret, secret, sizeof secret);
	return hello;
}

/* A socket that is connected to the recorder, or -errno. */
static long recorder_call(enum ada_hello_kind kind)
{
	long socket = ada_sys4(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, 0), status;

	if (ada_sys_failed(socket))
		return socket;
	timeout_set(socket, SO_SNDTIMEO); /* connect waits by it too */
	timeout_set(socket, SO_RCVTIMEO);
	status = recorder_reach(socket);
	if (kind == ADA_HELLO_START)
		first_user = ada_sys4(SYS_geteuid, 0, 0, 0, 0);
	if (!status && !peer_is_recorder(socket))
		status = -EPERM;
	if (!status)
		return socket;
	ada_sys_close(socket);
	return status;
}

int ada_connect(struct ada_conversation **result, enum ada_hello_kind kind, const struct ada_shm *parent)
{
	struct ada_conversation *conversation = ada_sys_map(sizeof *conversation);
	struct ada_hello hello = hello_of(kind, parent);
	long status;

	heard = false;
	if (!conversation)
		return -ENOMEM;
	status = kind != ADA_HELLO_START && ada_presence_gone() ? -ECONNREFUSED : recorder_call(kind);
	if (ada_sys_failed(status)) {
		ada_sys_unmap(conversation, sizeof *conversation);
		return status;
	}
	conversation->socket = status;
	conversation->agent = -1;
	status = message_send(conversation->socket, &hello.head);
	heard = !status;
	if (!status)
		status = welcome(conversation, kind == ADA_HELLO_START || kind == ADA_HELLO_FORK);
	if (status && heard)
		ada_connect_fail(conversation, status);
	else if (status)
		conversation_free(conversation);
	if (status)
		return status;
	*result = conversation;
	return 0;
}

int ada_connect_tell(const struct ada_shm *own, const struct ada_shm *parent)
{
	struct ada_hello hello = hello_of(ADA_HELLO_FORK, parent);
	struct ada_done done = { .head = { ADA_MESSAGE_DONE, sizeof done } };
	long socket = recorder_call(ADA_HELLO_FORK), status;

	if (ada_sys_failed(socket))
		return socket;
	hello.ready = own->ready.number;
	status = message_send(socket, &hello.head);
	if (!status)
		message_send(socket, &done.head);
	ada_sys_close(socket);
	return status;
}

struct ada_shm *ada_connect_segment(const struct ada_conversation *conversation, uint64_t *bytes)
{
	*bytes = conversation->shm_bytes;
	return conversation->shm;
}

uint32_t ada_connect_flags(const struct ada_conversation *conversation)
{
	return conversation->flags;
}

int ada_connect_ask(struct ada_conversation *conversation, uint32_t id, uint32_t flags)
{
	struct ada_module_message message = { .head = { ADA_MESSAGE_MODULE, sizeof message }, .module_id = id, .flags = flags };

	return message_send(conversation->socket, &message.head);
}

int ada_connect_plan(struct ada_conversation *conversation, uint32_t id, struct ada_plan_reply *reply, const struct ada_plan_header **plan,
		     const uint8_t **filter)
{
	const struct ada_plan_reply *answer = (void *)conversation->message;
	int fd, status = message_receive(conversation, ADA_MESSAGE_PLAN, sizeof *answer, &fd);

	*plan = NULL;
	if (status)
		return status;
	*reply = *answer;
	*filter = answer->filter_bytes ? (const uint8_t *)(answer + 1) : NULL;
	if (answer->module_id != id || answer->head.bytes - sizeof *answer < answer->filter_bytes)
		status = -EPROTO;
	else if (answer->plan_bytes) {
		*plan = ada_file_holds(fd, answer->plan_bytes) ? ada_sys_map_fd(fd, answer->plan_bytes, PROT_READ, false) : NULL;
		if (!*plan)
			status = -ENOMEM;
		else if (!ada_plan_fits(*plan, answer->plan_bytes)) {
			ada_sys_unmap((void *)*plan, answer->plan_bytes);
			*plan = NULL;
			status = -EPROTO;
		}
	}
	if (fd >= 0)
		ada_sys_close(fd);
	return status;
}

int ada_connect_applied(struct ada_conversation *conversation, uint32_t id)
{
	struct ada_applied message = { .head = { ADA_MESSAGE_APPLIED, sizeof message }, .module_id = id };

	return message_send(conversation->socket, &message.head);
}

int ada_connect_unload(struct ada_conversation *conversation, uint32_t id)
{
	struct ada_unload message = { .head = { ADA_MESSAGE_UNLOAD, sizeof message }, .module_id = id };

	return message_send(conversation->socket, &message.head);
}

int ada_connect_agent(void)
{
	struct ada_conversation *conversation;
	int fd, status = ada_connect(&conversation, ADA_HELLO_AGENT, NULL);

	if (status)
		return status;
	fd = conversation->agent;
	conversation->agent = -1;
	conversation_free(conversation);
	return fd >= 0 ? fd : -ENOENT;
}

void ada_connect_end(struct ada_conversation *conversation)
{
	struct ada_done message = { .head = { ADA_MESSAGE_DONE, sizeof message } };

	message_send(conversation->socket, &message.head);
	conversation_free(conversation);
}
