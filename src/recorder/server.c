#include "recorder/server.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>
#include "base/file.h"

#define CONVERSATIONS_MAX 256
#define IDLE_SECONDS 60			/* applying a large plan takes the agent its time */

struct ada_server {
	struct ada_recorder *recorder;
	struct sockaddr_un address;
	char directory[108];
	int socket, quit;
	pthread_t acceptor;
	pthread_mutex_t lock;
	pthread_cond_t ended;
	ADA_ARRAY(int) sockets;		/* of conversations under way */
	size_t accepted;		/* sockets that are on their way into that array */
};

struct conversation { struct ada_server *server; int socket; };

static void *converse(void *argument)
{
	struct conversation conversation = *(struct conversation *)argument;
	struct ada_server *server = conversation.server;
	free(argument);
	ada_conversation_run(server->recorder, conversation.socket);
	pthread_mutex_lock(&server->lock);
	for (size_t i = 0; i < server->sockets.count; i++)
		if (server->sockets.items[i] == conversation.socket) {
			server->sockets.items[i] = server->sockets.items[--server->sockets.count];
			break;
		}
	close(conversation.socket);
	pthread_cond_broadcast(&server->ended);
	pthread_mutex_unlock(&server->lock);
	return NULL;
}

static int start(struct ada_server *server, int socket)
{
	struct timeval timeout = { .tv_sec = IDLE_SECONDS };
	struct conversation *conversation = malloc(sizeof(*conversation));
	pthread_attr_t attributes;
	pthread_t thread;
	if (!conversation)
		return -ENOMEM;
	*conversation = (struct conversation){ server, socket };
	setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
	pthread_mutex_lock(&server->lock);
	while (server->sockets.count >= CONVERSATIONS_MAX)
		pthread_cond_wait(&server->ended, &server->lock);
	int rc = ada_array_push(&server->sockets, socket);
	if (!rc) {
		pthread_attr_init(&attributes);
		pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
		rc = -pthread_create(&thread, &attributes, converse, conversation);
		pthread_attr_destroy(&attributes);
		if (rc)
			server->sockets.count--;
		else
			server->accepted = 0;
	}
	pthread_mutex_unlock(&server->lock);
	if (rc)
		free(conversation);
	return rc;
}

static void *accept_all(void *argument)
{
	struct ada_server *server = argument;
	for (;;) {
		struct pollfd polls[] = { { .fd = server->socket, .events = POLLIN }, { .fd = server->quit, .events = POLLIN } };
		if (poll(polls, 2, -1) < 0 && errno != EINTR)
			return NULL;
		if (polls[1].revents)
			return NULL;
		pthread_mutex_lock(&server->lock);
		int socket = accept4(server->socket, NULL, NULL, SOCK_CLOEXEC);
		server->accepted = socket >= 0;
		pthread_mutex_unlock(&server->lock);
		/* No memory for a thread just now: the agent waits for some seconds. */
		while (socket >= 0 && start(server, socket))
			if (poll(&polls[1], 1, 10) == 1) {
				close(socket);
				return NULL;
			}
		if (socket < 0 && (errno == EMFILE || errno == ENFILE))
			poll(&polls[1], 1, 10);	/* until a file is closed */
	}
}

static int make_socket(struct ada_server *server, const char *parent)
{
	if (!parent || snprintf(server->directory, sizeof(server->directory), "%s/ada-XXXXXX", parent) >= (int)sizeof(server->directory) - 10)
		return -ENAMETOOLONG;
	if (!mkdtemp(server->directory))
		return -errno;
	server->address.sun_family = AF_UNIX;
	snprintf(server->address.sun_path, sizeof(server->address.sun_path), "%.100s/s", server->directory);
	if (!bind(server->socket, (struct sockaddr *)&server->address, sizeof(server->address)) &&
	    !chmod(server->address.sun_path, 0600) && !listen(server->socket, SOMAXCONN))
		return 0;
	int rc = -errno;
	unlink(server->address.sun_path);
	rmdir(server->directory);
	return rc;
}

int ada_server_open(struct ada_server **result, struct ada_recorder *recorder, struct ada_error *error)
{
	struct ada_server *server = calloc(1, sizeof(*server));
	if (!server)
		return ada_error_system(error, ENOMEM, "socket");
	server->recorder = recorder;
	server->socket = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	server->quit = eventfd(0, EFD_CLOEXEC);
	pthread_mutex_init(&server->lock, NULL);
	pthread_cond_init(&server->ended, NULL);
	int rc = server->socket < 0 || server->quit < 0 ? -errno : make_socket(server, getenv("XDG_RUNTIME_DIR"));
	if (rc)
		rc = make_socket(server, "/tmp");
	if (!rc) {
		rc = -pthread_create(&server->acceptor, NULL, accept_all, server);
		if (!rc) {
			*result = server;
			return 0;
		}
		unlink(server->address.sun_path);
		rmdir(server->directory);
	}
	close(server->socket);
	close(server->quit);
	free(server);
	return ada_error_system(error, -rc, "no socket for the agent can be made in /tmp");
}

const char *ada_server_path(const struct ada_server *server)
{
	return server->address.sun_path;
}

const char *ada_server_directory(const struct ada_server *server)
{
	return server->directory;
}

size_t ada_server_busy(struct ada_server *server)
{
	pthread_mutex_lock(&server->lock);
	struct pollfd waiting = { .fd = server->socket, .events = POLLIN };
	size_t count = server->sockets.count + server->accepted + (poll(&waiting, 1, 0) == 1);
	pthread_mutex_unlock(&server->lock);
	return count;
}

void ada_server_close(struct ada_server *server)
{
	eventfd_write(server->quit, 1);
	pthread_mutex_lock(&server->lock);
	for (size_t i = 0; i < server->sockets.count; i++)
		shutdown(server->sockets.items[i], SHUT_RDWR);
	pthread_mutex_unlock(&server->lock);
	pthread_join(server->acceptor, NULL);
	pthread_mutex_lock(&server->lock);
	while (server->sockets.count) {
		for (size_t i = 0; i < server->sockets.count; i++)
			shutdown(server->sockets.items[i], SHUT_RDWR);
		pthread_cond_wait(&server->ended, &server->lock);
	}
	pthread_mutex_unlock(&server->lock);
	unlink(server->address.sun_path);
	rmdir(server->directory);
	close(server->socket);
	close(server->quit);
	ada_array_free(&server->sockets);
	pthread_mutex_destroy(&server->lock);
	pthread_cond_destroy(&server->ended);
	free(server);
}
