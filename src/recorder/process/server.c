#include "recorder/process/server.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <poll.h>
#include <semaphore.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>
#include "base/directory.h"

#define CONVERSATIONS_MAX 256
#define PRIORITY -5 /* as the drain's: a process waits, and as a rule not for long */
#define PAUSE_MS 10
#define PULSE_MS 5000		   /* a quarter of what an agent waits for a recorder that says nothing */
#define PULSES_NS 1800000000000ull /* no answer takes half an hour: it hangs, and the program goes on without it */
#define TURN_SECONDS 5		   /* of an earlier conversation that says nothing */
#define SOCKET_NAME "s"
#define SOCKET_PATH_BYTES sizeof(((struct sockaddr_un *)0)->sun_path)

struct talking {
	int socket;
	pid_t pid;		   /* the peer's */
	uint64_t order;		   /* in which they were accepted */
	enum ada_talk_stage stage; /* 0: none of them */
	uint64_t owes_ns;	   /* since when the agent waits for an answer; 0: it doesn't */
};

struct ada_server {
	struct ada_recorder *recorder;
	char directory[SOCKET_PATH_BYTES], path[SOCKET_PATH_BYTES];
	int place;		    /* that directory, held open */
	int socket, abstract, quit; /* abstract: -1 where no such name can be had */
	char secret[2 * ADA_SECRET_BYTES + 1];
	char entry[SOCKET_PATH_BYTES + 2 * ADA_SECRET_BYTES + 2];
	pthread_t pulse;
	pthread_mutex_t lock;
	sem_t door; /* who has it accepts */
	pthread_cond_t ended;
	ADA_ARRAY(struct talking) talks; /* conversations under way */
	int priority;			 /* of a thread that nobody waits for */
	uint64_t taken;			 /* conversations that there were */
	size_t accepted;		 /* sockets that are on their way into that array */
	size_t hosts, waiting;		 /* threads that accept or will; of these, those that wait for the door */
	bool closing;
};

static void *host(void *argument);

static void converse(struct ada_server *server, int socket)
{
	ada_background_hurry(&server->recorder->background); /* the process waits, maybe for a lock of the main thread */
	ada_conversation_run(server->recorder, socket);
	pthread_mutex_lock(&server->lock);
	for (size_t i = 0; i < server->talks.count; i++)
		if (server->talks.items[i].socket == socket) {
			server->talks.items[i] = server->talks.items[--server->talks.count];
			break;
		}
	close(socket);
	pthread_cond_broadcast(&server->ended);
	pthread_mutex_unlock(&server->lock);
}

/* Makes sure that somebody waits for the door. 0 or -errno; -ESHUTDOWN: the server ends. */
static int have_next(struct ada_server *server)
{
	pthread_attr_t attributes;
	pthread_t thread;
	int status;

	pthread_mutex_lock(&server->lock);
	status = server->closing ? -ESHUTDOWN : 0;
	if (!status && !server->waiting) {
		pthread_attr_init(&attributes);
		pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
		status = -pthread_create(&thread, &attributes, host, server);
		pthread_attr_destroy(&attributes);
		if (!status) {
			server->hosts++;
			server->waiting++;
		}
	}
	pthread_mutex_unlock(&server->lock);
	return status;
}

/* Enters the conversation and gives the door to the next thread, so that this one can talk. 0 or -errno. */
static int leave_door(struct ada_server *server, int socket)
{
	struct timeval timeout = { .tv_sec = ADA_SERVER_IDLE_SECONDS };
	int status = have_next(server);
	struct ucred peer = { 0 };
	socklen_t length = sizeof peer;

	if (status)
		return status;
	getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length);
	setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
	setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
	pthread_mutex_lock(&server->lock);
	while (server->talks.count >= CONVERSATIONS_MAX)
		pthread_cond_wait(&server->ended, &server->lock);
	status = ada_array_push(&server->talks, (struct talking){ .socket = socket, .pid = peer.pid, .order = server->taken++ });
	if (!status) {
		server->accepted = 0;
		server->hosts--;
		sem_post(&server->door);
	}
	pthread_mutex_unlock(&server->lock);
	return status;
}

/* Accepts the connection that waits at this socket, and leaves the door. *socket -1: there is none, or no more. False: the server ends. */
static bool accept_one(struct ada_server *server, int from, int *taken)
{
	struct pollfd quit = { .fd = server->quit, .events = POLLIN };
	int socket, code;

	pthread_mutex_lock(&server->lock);
	socket = accept4(from, NULL, NULL, SOCK_CLOEXEC);
	code = errno;
	server->accepted = socket >= 0;
	/* Strangers leave half of the places to peers who need no secret. */
	if (socket >= 0 && from == server->abstract && server->talks.count >= CONVERSATIONS_MAX / 2) {
		close(socket);
		server->accepted = 0;
		socket = -1;
		code = EAGAIN;
	}
	pthread_mutex_unlock(&server->lock);
	/* No memory for a thread just now: the agent waits for some seconds. */
	while (socket >= 0 && leave_door(server, socket))
		if (poll(&quit, 1, 10) == 1) {
			close(socket);
			return false;
		}
	if (socket < 0 && code != EAGAIN && code != EINTR && code != ECONNABORTED)
		poll(&quit, 1, PAUSE_MS); /* it stays in the queue, until a file is closed or memory is free */
	*taken = socket;
	return true;
}

/* -1: the server ends. */
static int accept_next(struct ada_server *server)
{
	for (;;) {
		struct pollfd polls[] = { { .fd = server->quit, .events = POLLIN },
					  { .fd = server->socket, .events = POLLIN },
					  { .fd = server->abstract, .events = POLLIN } };

		if (poll(polls, 3, -1) < 0) {
			if (errno != EINTR)
				poll(NULL, 0, PAUSE_MS);
			continue;
		}
		if (polls[0].revents)
			return -1;
		for (int i = 1; i < 3; i++) {
			int socket = -1;

			if (polls[i].revents && !accept_one(server, polls[i].fd, &socket))
				return -1;
			if (socket >= 0)
				return socket;
		}
	}
}

/* The thread that accepts a connection talks itself, for a process waits: waking another would take longer than much of the answer. The
 * next thread is there already, and takes the door. */
static void *host(void *argument)
{
	struct ada_server *server = argument;
	int socket;

	setpriority(PRIO_PROCESS, 0, server->priority + PRIORITY); /* this thread; where it is allowed */
	while (sem_wait(&server->door))
		;
	pthread_mutex_lock(&server->lock);
	server->waiting--;
	pthread_mutex_unlock(&server->lock);
	have_next(server); /* without memory: when it is needed */
	socket = accept_next(server);
	if (socket >= 0) {
		converse(server, socket);
		return NULL;
	}
	pthread_mutex_lock(&server->lock);
	server->hosts--;
	sem_post(&server->door); /* whoever waits for it is to end, too */
	pthread_cond_broadcast(&server->ended);
	pthread_mutex_unlock(&server->lock);
	return NULL;
}

static void end_hosts(struct ada_server *server)
{
	eventfd_write(server->quit, 1);
	pthread_mutex_lock(&server->lock);
	server->closing = true;
	for (size_t i = 0; i < server->talks.count; i++)
		shutdown(server->talks.items[i].socket, SHUT_RDWR); /* else the door might wait for a place among them */
	while (server->hosts)
		pthread_cond_wait(&server->ended, &server->lock);
	pthread_mutex_unlock(&server->lock);
}

/* Tells agents whose answer takes long (this conversation or another plans a large program) that the recorder works on it. */
static void *send_pulses(void *argument)
{
	struct ada_server *server = argument;
	struct pollfd quit = { .fd = server->quit, .events = POLLIN };
	static const struct ada_message pulse = { ADA_MESSAGE_WAIT, sizeof pulse };

	while (poll(&quit, 1, PULSE_MS) <= 0) {
		uint64_t now = ada_clock_boottime_ns();

		pthread_mutex_lock(&server->lock);
		for (size_t i = 0; i < server->talks.count; i++) {
			const struct talking *talking = &server->talks.items[i];

			if (talking->owes_ns && now - talking->owes_ns < PULSES_NS)
				send(talking->socket, &pulse, sizeof pulse, MSG_DONTWAIT | MSG_NOSIGNAL);
		}
		pthread_mutex_unlock(&server->lock);
	}
	return NULL;
}

static struct talking *talking_at(struct ada_server *server, int socket)
{
	for (size_t i = 0; i < server->talks.count; i++)
		if (server->talks.items[i].socket == socket)
			return &server->talks.items[i];
	return NULL;
}

void ada_server_owes(struct ada_server *server, int socket, bool owes)
{
	struct talking *talking;

	if (!server)
		return;
	pthread_mutex_lock(&server->lock);
	talking = talking_at(server, socket);
	if (talking)
		talking->owes_ns = owes ? ada_clock_boottime_ns() : 0;
	pthread_mutex_unlock(&server->lock);
}

void ada_server_reached(struct ada_server *server, int socket, enum ada_talk_stage stage)
{
	struct talking *talking;

	if (!server)
		return;
	pthread_mutex_lock(&server->lock);
	talking = talking_at(server, socket);
	if (talking)
		talking->stage = stage;
	pthread_cond_broadcast(&server->ended);
	pthread_mutex_unlock(&server->lock);
	if (stage == ADA_TALK_GREETED)
		setpriority(PRIO_PROCESS, 0, server->priority);
}

/* Under the lock. */
static bool is_next(struct ada_server *server, int socket, pid_t pid, enum ada_talk_stage stage)
{
	const struct talking *mine = talking_at(server, socket);

	for (size_t i = 0; mine && i < server->talks.count; i++) {
		const struct talking *other = &server->talks.items[i];

		if (other->pid == pid && other->order < mine->order && other->stage < stage)
			return false;
	}
	return true;
}

void ada_server_await(struct ada_server *server, int socket, pid_t pid, enum ada_talk_stage stage)
{
	struct timespec until;

	if (!server)
		return;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += TURN_SECONDS;
	pthread_mutex_lock(&server->lock);
	while (!server->closing && !is_next(server, socket, pid, stage))
		if (pthread_cond_timedwait(&server->ended, &server->lock, &until))
			break;
	pthread_mutex_unlock(&server->lock);
}

/* Through the descriptor of the directory: whoever has the one above may have exchanged it. */
int ada_server_bind(const struct ada_server *server, int socket, const char *name, int backlog)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	char place[ADA_DIRECTORY_PATH_BYTES];
	int status;

	ada_directory_path(server->place, place);
	if (snprintf(address.sun_path, sizeof address.sun_path, "%s/%s", place, name) >= (int)sizeof address.sun_path)
		return -ENAMETOOLONG;
	if (bind(socket, (struct sockaddr *)&address, sizeof address))
		return -errno;
	/* Nobody connects before listen: the mode is right by then. */
	status = fchmodat(server->place, name, 0600, 0) || listen(socket, backlog) ? -errno : 0;
	if (status)
		ada_server_unbind(server, name);
	return status;
}

void ada_server_unbind(const struct ada_server *server, const char *name)
{
	unlinkat(server->place, name, 0);
}

static void leave_place(struct ada_server *server)
{
	if (server->place < 0)
		return;
	ada_server_unbind(server, SOCKET_NAME);
	close(server->place);
	rmdir(server->directory);
	server->place = -1;
}

/* The directory, and the agents' socket in it. */
static int make_place(struct ada_server *server, const char *parent)
{
	int bytes = snprintf(server->directory, sizeof server->directory, "%s/" ADA_SERVER_PREFIX "XXXXXX", parent);
	struct stat info;
	int status;

	if (bytes + sizeof("/" SOCKET_NAME) > sizeof server->path)
		return -ENAMETOOLONG;
	if (!mkdtemp(server->directory))
		return -errno;
	snprintf(server->path, sizeof server->path, "%.100s/" SOCKET_NAME, server->directory);
	server->place = open(server->directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (server->place < 0) {
		status = -errno;
		rmdir(server->directory);
		return status;
	}
	status = fstat(server->place, &info) ? -errno :
		 info.st_uid != geteuid()    ? -EPERM :
					       ada_server_bind(server, server->socket, SOCKET_NAME, SOMAXCONN);
	if (status)
		leave_place(server);
	return status;
}

/* NULL where the environment names none, or, as with sudo, another user's. */
static const char *runtime_directory(void)
{
	const char *path = getenv("XDG_RUNTIME_DIR");
	struct stat info;

	return path && *path == '/' && !stat(path, &info) && info.st_uid == geteuid() ? path : NULL;
}

/* Where that fails, processes that would need the abstract name are not recorded, and named. */
static void make_abstract(struct ada_server *server)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	uint8_t secret[ADA_SECRET_BYTES];
	size_t bytes = strlen(server->path);
	int fd;

	snprintf(server->entry, sizeof server->entry, "%s", server->path);
	if (bytes >= sizeof address.sun_path || getrandom(secret, sizeof secret, 0) != sizeof secret)
		return;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	memcpy(address.sun_path + 1, server->path, bytes);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, offsetof(struct sockaddr_un, sun_path) + 1 + (socklen_t)bytes) ||
	    listen(fd, SOMAXCONN)) {
		if (fd >= 0)
			close(fd);
		return;
	}
	for (size_t i = 0; i < sizeof secret; i++)
		snprintf(server->secret + 2 * i, 3, "%02x", secret[i]);
	snprintf(server->entry, sizeof server->entry, "%s#%s", server->path, server->secret);
	memcpy(server->recorder->secret, secret, sizeof secret);
	server->recorder->has_secret = true;
	server->abstract = fd;
}

int ada_server_open(struct ada_server **result, struct ada_recorder *recorder, struct ada_error *error)
{
	struct ada_server *server = calloc(1, sizeof *server);
	const char *runtime;
	int status;

	if (!server)
		return ada_error_system(error, ENOMEM, "socket");
	server->recorder = recorder;
	server->priority = getpriority(PRIO_PROCESS, 0);
	server->socket = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	server->abstract = -1;
	server->quit = eventfd(0, EFD_CLOEXEC);
	pthread_mutex_init(&server->lock, NULL);
	pthread_cond_init(&server->ended, NULL);
	sem_init(&server->door, 0, 1);
	server->place = -1;
	runtime = runtime_directory();
	status = server->socket < 0 || server->quit < 0 ? -errno : runtime ? make_place(server, runtime) : -ENOENT;
	if (status)
		status = make_place(server, "/tmp");
	if (!status) {
		make_abstract(server);
		status = have_next(server);
		if (!status) {
			status = -pthread_create(&server->pulse, NULL, send_pulses, server);
			if (!status) {
				*result = server;
				return 0;
			}
			end_hosts(server);
		}
		leave_place(server);
	}
	close(server->socket);
	if (server->abstract >= 0)
		close(server->abstract);
	close(server->quit);
	free(server);
	return ada_error_system(error, -status, "no socket for the agent can be made in /tmp");
}

const char *ada_server_path(const struct ada_server *server)
{
	return server->path;
}

const char *ada_server_entry(const struct ada_server *server)
{
	return server->entry;
}

const char *ada_server_directory(const struct ada_server *server)
{
	return server->directory;
}

size_t ada_server_busy(struct ada_server *server)
{
	struct pollfd waiting[] = { { .fd = server->socket, .events = POLLIN }, { .fd = server->abstract, .events = POLLIN } };
	size_t count;
	int more;

	pthread_mutex_lock(&server->lock);
	more = poll(waiting, 2, 0);
	count = server->talks.count + server->accepted + (more > 0 ? (size_t)more : 0);
	pthread_mutex_unlock(&server->lock);
	return count;
}

void ada_server_close(struct ada_server *server)
{
	end_hosts(server);
	pthread_join(server->pulse, NULL);
	pthread_mutex_lock(&server->lock);
	while (server->talks.count) {
		for (size_t i = 0; i < server->talks.count; i++)
			shutdown(server->talks.items[i].socket, SHUT_RDWR);
		pthread_cond_wait(&server->ended, &server->lock);
	}
	pthread_mutex_unlock(&server->lock);
	leave_place(server);
	close(server->socket);
	if (server->abstract >= 0)
		close(server->abstract);
	close(server->quit);
	ada_array_free(&server->talks);
	pthread_mutex_destroy(&server->lock);
	pthread_cond_destroy(&server->ended);
	sem_destroy(&server->door);
	free(server);
}
