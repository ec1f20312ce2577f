#include "recorder/control/control.h"
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/file.h"
#include "recorder/control/command.h"
#include "recorder/control/progress.h"
#include "recorder/process/server.h"
#include "recorder/state/provider.h"

#define CLIENTS_MAX 32
#define REQUEST_BYTES_MAX 16384
#define READ_NS 3000000000ull	/* until a request must be there whole */
#define WRITE_NS 5000000000ull	/* until the client must have taken the answer */
#define LINGER_NS 1000000000ull /* for the last answers, when all is over */
#define PAUSE_MS 10
#define PACE_NS 500000000ull
#define FLUSH_NS 50000000ull /* so long an answer waits for files; what isn't there by then is named in it */

enum client_state {
	READING,  /* its request */
	WAITING,  /* for the main thread: meanwhile only that may touch `request` and set `answer` */
	STOPPING, /* has asked for the recording's end, and gets its answer then */
	WRITING,  /* its answer */
};

struct client {
	int fd;
	enum client_state state;
	uint64_t deadline_ns; /* READING, WRITING */
	char *bytes;	      /* of the request so far, then of the answer */
	size_t count, done;
	json_object *request;
	uint64_t flush_ns; /* WAITING: when it was first seen that it wants files to be written; 0: not yet */
};

struct ada_control {
	struct ada_recorder *recorder;
	char path[PATH_MAX];
	int socket, wake;
	pthread_t thread;
	/* Guards the clients. Only the control thread adds and removes clients, so that thread may look without the lock. */
	pthread_mutex_t lock;
	struct client clients[CLIENTS_MAX];
	size_t count;
	bool stop, over;      /* a client asked for the end; all is written */
	struct ada_pace pace; /* main thread */
};

/* Takes over the object. The caller holds the lock. */
static void client_answer(struct client *client, json_object *object)
{
	size_t length = 0;
	const char *text = json_object_to_json_string_length(object, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE, &length);

	free(client->bytes);
	client->bytes = text ? malloc(length + 1) : NULL;
	client->count = client->bytes ? length + 1 : 0;
	client->done = 0;
	if (client->bytes) {
		memcpy(client->bytes, text, length);
		client->bytes[length] = '\n';
	}
	client->state = WRITING;
	client->deadline_ns = ada_clock_boottime_ns() + WRITE_NS;
	json_object_put(object);
	json_object_put(client->request);
	client->request = NULL;
}

static void drop(struct ada_control *control, size_t i)
{
	pthread_mutex_lock(&control->lock);
	close(control->clients[i].fd);
	free(control->clients[i].bytes);
	json_object_put(control->clients[i].request);
	control->clients[i] = control->clients[--control->count];
	pthread_mutex_unlock(&control->lock);
}

/* The user who records may, and root. The socket's mode says so already; this holds where someone gets around the mode. */
static bool may(int fd)
{
	struct ucred peer;
	socklen_t length = sizeof peer;

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) && (peer.uid == geteuid() || peer.uid == 0);
}

/* Every place is taken: the client that has said nothing for longest must go. */
static bool make_room(struct ada_control *control)
{
	size_t oldest = CLIENTS_MAX;

	if (control->count < CLIENTS_MAX)
		return true;
	pthread_mutex_lock(&control->lock);
	for (size_t i = 0; i < control->count; i++)
		if (control->clients[i].state == READING &&
		    (oldest == CLIENTS_MAX || control->clients[i].deadline_ns < control->clients[oldest].deadline_ns))
			oldest = i;
	pthread_mutex_unlock(&control->lock);
	if (oldest < CLIENTS_MAX)
		drop(control, oldest);
	return oldest < CLIENTS_MAX;
}

static void take_in(struct ada_control *control)
{
	int fd = accept4(control->socket, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0) {
		if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
			poll(NULL, 0, PAUSE_MS); /* the connection stays in the queue, until a file is closed or memory is free */
		return;
	}
	if (!may(fd) || !make_room(control)) {
		close(fd);
		return;
	}
	pthread_mutex_lock(&control->lock);
	control->clients[control->count++] = (struct client){ .fd = fd, .deadline_ns = ada_clock_boottime_ns() + READ_NS };
	pthread_mutex_unlock(&control->lock);
}

/* A whole line is there: answers it, or hands it to the main thread. */
static void take_request(struct ada_control *control, struct client *client)
{
	json_object *request = json_tokener_parse(client->bytes), *result = NULL;
	enum ada_command command = ada_command_of(request);

	if (ada_command_version(request))
		result = ada_control_error("version", "this recorder speaks another version of the protocol than the request asks for");
	else if (command == ADA_COMMAND_NONE)
		result = ada_control_error("request", "no request that this version of ada knows");
	if (result) {
		json_object_put(request);
		request = NULL;
		command = ADA_COMMAND_NONE;
	} else if (!ada_command_on_main(command)) {
		result = ada_command_run(control->recorder, command, request);
	}
	pthread_mutex_lock(&control->lock);
	client->request = request;
	if (result)
		client_answer(client, result);
	else
		client->state = command == ADA_COMMAND_STOP ? STOPPING : WAITING;
	control->stop |= command == ADA_COMMAND_STOP;
	pthread_mutex_unlock(&control->lock);
	ada_recorder_wake(control->recorder);
}

/* False: the client is to be dropped. */
static bool read_some(struct ada_control *control, struct client *client)
{
	ssize_t got;
	char *end;

	if (!client->bytes)
		client->bytes = malloc(REQUEST_BYTES_MAX + 1);
	if (!client->bytes)
		return false;
	got = recv(client->fd, client->bytes + client->count, REQUEST_BYTES_MAX - client->count, 0);
	if (got <= 0)
		return got < 0 && (errno == EAGAIN || errno == EINTR);
	client->count += (size_t)got;
	client->bytes[client->count] = 0;
	end = memchr(client->bytes, '\n', client->count);
	if (end) {
		*end = 0;
		take_request(control, client);
	} else if (client->count == REQUEST_BYTES_MAX) {
		pthread_mutex_lock(&control->lock);
		client_answer(client, ada_control_error("too-long", "the request is too long"));
		pthread_mutex_unlock(&control->lock);
	}
	return true;
}

static bool write_some(struct client *client)
{
	ssize_t put = send(client->fd, client->bytes + client->done, client->count - client->done, MSG_NOSIGNAL);

	if (put < 0)
		return errno == EAGAIN || errno == EINTR;
	client->done += (size_t)put;
	return client->done < client->count;
}

static enum client_state state_of(struct ada_control *control, size_t i)
{
	enum client_state state;

	pthread_mutex_lock(&control->lock);
	state = control->clients[i].state;
	pthread_mutex_unlock(&control->lock);
	return state;
}

/* Gives each client what is due. From the last to the first: dropping a client moves the last one into its place. */
static void attend_all(struct ada_control *control, const struct pollfd *polls, size_t polled)
{
	uint64_t now = ada_clock_boottime_ns();

	for (size_t i = polled; i-- > 0;) {
		struct client *client = &control->clients[i];
		enum client_state state = state_of(control, i);
		bool keep = true;

		if (state == WAITING || state == STOPPING)
			keep = !(polls[i].revents & (POLLHUP | POLLERR));
		else if (polls[i].revents)
			keep = state == READING ? read_some(control, client) : write_some(client);
		if (keep && (state == READING || state == WRITING) && state == state_of(control, i) && now > client->deadline_ns)
			keep = false;
		if (!keep)
			drop(control, i);
	}
}

static void *serve(void *argument)
{
	struct ada_control *control = argument;
	uint64_t linger_ns = 0;

	for (;;) {
		struct pollfd polls[CLIENTS_MAX + 2];
		size_t count = control->count;
		bool over, writing = false;

		for (size_t i = 0; i < count; i++) {
			enum client_state state = state_of(control, i);

			/* A client that waits for the main thread isn't polled: a hang-up would be news again and again. */
			polls[i] = (struct pollfd){ .fd = state == WAITING ? -1 : control->clients[i].fd,
						    .events = state == READING ? POLLIN :
							      state == WRITING ? POLLOUT :
										 0 };
			writing |= state == WRITING;
		}
		pthread_mutex_lock(&control->lock);
		over = control->over;
		pthread_mutex_unlock(&control->lock);
		if (over && !linger_ns)
			linger_ns = ada_clock_boottime_ns() + LINGER_NS;
		if (over && (!writing || ada_clock_boottime_ns() > linger_ns))
			return NULL;
		polls[count] = (struct pollfd){ .fd = control->wake, .events = POLLIN };
		polls[count + 1] = (struct pollfd){ .fd = over ? -1 : control->socket, .events = POLLIN };
		if (poll(polls, count + 2, count ? 200 : -1) < 0 && errno != EINTR)
			poll(NULL, 0, PAUSE_MS);
		if (polls[count].revents) {
			eventfd_t news;

			eventfd_read(control->wake, &news);
		}
		attend_all(control, polls, count);
		if (polls[count + 1].revents)
			take_in(control);
	}
}

/* What the client wants to be written is, or takes too long. */
static bool may_answer(struct ada_recorder *recorder, struct client *client, uint64_t now_ns)
{
	if (!ada_command_flushes(client->request))
		return true;
	if (!client->flush_ns) {
		client->flush_ns = now_ns;
		recorder->flush = true;
		ada_recorder_wake(recorder);
		return false;
	}
	return recorder->flushed_ns > client->flush_ns && (ada_status_is_written(recorder) || now_ns - client->flush_ns > FLUSH_NS);
}

bool ada_control_turn(struct ada_control *control, uint64_t now_ns)
{
	bool answered = false, stop;

	if (now_ns - control->pace.ns >= PACE_NS) {
		struct ada_totals totals = ada_recording_totals(control->recorder);
		uint64_t past = now_ns - control->pace.ns;

		control->pace.per_second = control->pace.ns ?
						   (uint64_t)((double)(totals.events - control->pace.events) * 1e9 / (double)past) :
						   0;
		control->pace.ns = now_ns;
		control->pace.events = totals.events;
	}
	pthread_mutex_lock(&control->lock);
	for (size_t i = 0; i < control->count; i++) {
		struct client *client = &control->clients[i];
		enum ada_command command;

		if (client->state != WAITING || !may_answer(control->recorder, client, now_ns))
			continue;
		command = ada_command_of(client->request);
		client_answer(client, command == ADA_COMMAND_STATUS ? ada_status_of(control->recorder, &control->pace, now_ns) :
								      ada_command_run(control->recorder, command, client->request));
		answered = true;
	}
	stop = control->stop;
	pthread_mutex_unlock(&control->lock);
	if (answered)
		eventfd_write(control->wake, 1);
	return stop;
}

static int open_socket(struct ada_control *control)
{
	const struct ada_server *server = control->recorder->server;
	int status;

	if (ada_path(control->path, "%s/" ADA_CONTROL_NAME, ada_server_directory(server)))
		return -ENAMETOOLONG;
	if (control->socket < 0 || control->wake < 0)
		return -errno;
	status = ada_server_bind(server, control->socket, ADA_CONTROL_NAME, CLIENTS_MAX);
	if (status)
		return status;
	status = -pthread_create(&control->thread, NULL, serve, control);
	if (status)
		ada_server_unbind(server, ADA_CONTROL_NAME);
	return status;
}

int ada_control_open(struct ada_control **result, struct ada_recorder *recorder, struct ada_error *error)
{
	struct ada_control *control = calloc(1, sizeof *control);
	int status;

	if (!control)
		return ada_error_system(error, ENOMEM, "control socket");
	control->recorder = recorder;
	control->socket = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	control->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_mutex_init(&control->lock, NULL);
	status = open_socket(control);
	if (!status) {
		recorder->control_path = control->path;
		*result = control;
		return 0;
	}
	if (control->socket >= 0)
		close(control->socket);
	if (control->wake >= 0)
		close(control->wake);
	pthread_mutex_destroy(&control->lock);
	free(control);
	return ada_error_system(error, -status, "no control socket can be made in %s", ada_server_directory(recorder->server));
}

void ada_control_close(struct ada_control *control)
{
	control->recorder->control_path = NULL;
	ada_server_unbind(control->recorder->server, ADA_CONTROL_NAME);
	pthread_mutex_lock(&control->lock);
	for (size_t i = 0; i < control->count; i++) {
		struct client *client = &control->clients[i];

		if (client->state == STOPPING)
			client_answer(client, ada_status_of(control->recorder, &control->pace, ada_clock_boottime_ns()));
		else if (client->state == WAITING)
			client_answer(client, ada_control_error("ended", "the session has ended"));
	}
	control->over = true;
	pthread_mutex_unlock(&control->lock);
	eventfd_write(control->wake, 1);
	pthread_join(control->thread, NULL);
	while (control->count)
		drop(control, control->count - 1);
	close(control->socket);
	close(control->wake);
	pthread_mutex_destroy(&control->lock);
	free(control);
}
