/* Pairs of sockets: see memory.h. */
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "memory.h"

#define SOCKETS 70 /* as many clients as the control socket serves, and some whose ends are gone */
#define FIRST (FUZZ_FD + 4096)
#define QUEUE_BYTES (208 << 10) /* as Linux has it by default */
#define MESSAGES_MAX 278

/* What was sent to it and isn't yet received; the bytes of messages follow each other. */
static struct end {
	int kind;
	bool used, done, deaf; /* shut for writing, for reading */
	size_t from, to, first, last;
	size_t lengths[MESSAGES_MAX];
	uint8_t bytes[QUEUE_BYTES];
} ends[SOCKETS];

static struct end *end_of(int fd)
{
	if (fd < FIRST || fd >= FIRST + SOCKETS)
		return NULL;
	assert(ends[fd - FIRST].used);
	return &ends[fd - FIRST];
}

/* NULL: closed. */
static struct end *peer_of(const struct end *end)
{
	struct end *peer = &ends[(end - ends) ^ 1];

	return peer->used ? peer : NULL;
}

static void begin(struct end *end, int kind)
{
	end->kind = kind;
	end->used = true;
	end->done = end->deaf = false;
	end->from = end->to = end->first = end->last = 0;
}

void fuzz_socket_pair(int kind, int pair[2])
{
	int i = 0;

	while (ends[i].used || ends[i + 1].used)
		assert((i += 2) < SOCKETS);
	for (int k = 0; k < 2; k++) {
		begin(&ends[i + k], kind);
		pair[k] = FIRST + i + k;
	}
}

bool fuzz_socket_close(int fd)
{
	struct end *end = end_of(fd);

	if (end)
		end->used = false;
	return end;
}

static bool is_at_end(const struct end *end)
{
	return end->deaf || !peer_of(end) || peer_of(end)->done;
}

static int fail(int error)
{
	errno = error;
	return -1;
}

static ssize_t put(struct end *end, const struct iovec *parts, size_t count)
{
	struct end *peer = peer_of(end);
	size_t length = 0, room;

	for (size_t i = 0; i < count; i++)
		length += parts[i].iov_len;
	if (end->done || !peer || peer->deaf)
		return fail(EPIPE);
	room = QUEUE_BYTES - peer->to;
	if (peer->kind == SOCK_SEQPACKET) {
		if (length > room || peer->last == MESSAGES_MAX)
			return fail(EAGAIN);
		peer->lengths[peer->last++] = length;
	} else if (length > room) {
		assert(count == 1);
		if (!room)
			return fail(EAGAIN);
		length = room;
	}
	for (size_t i = 0, done = 0; i < count && done < length; i++) {
		size_t bytes = parts[i].iov_len < length - done ? parts[i].iov_len : length - done;

		memcpy(peer->bytes + peer->to, parts[i].iov_base, bytes);
		peer->to += bytes;
		done += bytes;
	}
	return (ssize_t)length;
}

static ssize_t take(struct end *end, void *bytes, size_t length, int flags)
{
	bool packets = end->kind == SOCK_SEQPACKET;
	size_t left = end->to - end->from, got;

	if (packets ? end->first == end->last : !left)
		return is_at_end(end) ? 0 : fail(EAGAIN);
	if (packets)
		left = end->lengths[end->first++];
	got = length < left ? length : left;
	memcpy(bytes, end->bytes + end->from, got);
	end->from += packets ? left : got;
	if (packets ? end->first == end->last : end->from == end->to)
		end->from = end->to = end->first = end->last = 0;
	return packets && flags & MSG_TRUNC ? (ssize_t)left : (ssize_t)got;
}

static short events_of(struct end *end, short wanted)
{
	struct end *peer = peer_of(end);
	short events = 0;

	if (end->from < end->to || end->first < end->last || is_at_end(end))
		events |= POLLIN;
	if (!peer || peer->deaf || peer->to < QUEUE_BYTES)
		events |= POLLOUT;
	events &= wanted;
	return peer && !(end->done && is_at_end(end)) ? events : events | POLLHUP;
}

/* --- In place of libc's ------------------------------------------------------------------------------------------------- */

#define WRAP(type, name, parameters)                                                                                                       \
	type __real_##name parameters;                                                                                                     \
	type __wrap_##name parameters;                                                                                                     \
	type __wrap_##name parameters

WRAP(ssize_t, recv, (int fd, void *bytes, size_t length, int flags))
{
	struct end *end = end_of(fd);

	return end ? take(end, bytes, length, flags) : __real_recv(fd, bytes, length, flags);
}

WRAP(ssize_t, send, (int fd, const void *bytes, size_t length, int flags))
{
	struct end *end = end_of(fd);
	struct iovec part = { (void *)bytes, length };

	return end ? put(end, &part, 1) : __real_send(fd, bytes, length, flags);
}

/* Descriptors that come with it go nowhere. */
WRAP(ssize_t, sendmsg, (int fd, const struct msghdr *message, int flags))
{
	struct end *end = end_of(fd);

	return end ? put(end, message->msg_iov, message->msg_iovlen) : __real_sendmsg(fd, message, flags);
}

WRAP(int, shutdown, (int fd, int how))
{
	struct end *end = end_of(fd);

	if (!end)
		return __real_shutdown(fd, how);
	end->done |= how != SHUT_RD;
	end->deaf |= how != SHUT_WR;
	return 0;
}

WRAP(int, setsockopt, (int fd, int level, int name, const void *value, socklen_t length))
{
	return end_of(fd) ? 0 : __real_setsockopt(fd, level, name, value, length);
}

WRAP(int, getsockopt, (int fd, int level, int name, void *value, socklen_t *length))
{
	if (!end_of(fd))
		return __real_getsockopt(fd, level, name, value, length);
	if (level == SOL_SOCKET && name != SO_PEERCRED) { /* SO_PEERPIDFD: as old kernels */
		errno = ENOPROTOOPT;
		return -1;
	}
	assert(level == SOL_SOCKET && *length == sizeof(struct ucred));
	*(struct ucred *)value = (struct ucred){ .pid = getpid(), .uid = getuid(), .gid = getgid() };
	return 0;
}

/* Ours and the kernel's don't come together, and nobody waits for ours; nothing happens to what takes all that is written. */
WRAP(int, poll, (struct pollfd * polls, nfds_t count, int timeout_ms))
{
	int ready = 0;

	if (count && polls[0].fd == fuzz_null())
		return 0;
	if (!count || polls[0].fd < FIRST)
		return __real_poll(polls, count, timeout_ms);
	for (nfds_t i = 0; i < count; i++) {
		polls[i].revents = events_of(end_of(polls[i].fd), polls[i].events);
		ready += polls[i].revents != 0;
	}
	return ready;
}
