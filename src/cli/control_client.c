#include "cli/control_client.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>
#include "base/file.h"
#include "query/json.h"

#define LATEST "ada_traces/latest"
#define ANSWER_BYTES_MAX (64u << 20)

int ada_is_directory(const char *argument)
{
	struct stat info;
	return !stat(argument, &info) && S_ISDIR(info.st_mode);
}

json_object *ada_live_request(const char *name)
{
	json_object *request = json_object_new_object();
	json_object_object_add(request, "request", json_object_new_string(name));
	return request;
}

/* The directory that holds session.json: this one, or the one above a pid directory. */
static int find_directory(struct ada_live *live, const char *given, struct ada_error *error)
{
	const char *path = given ? given : LATEST;
	char resolved[PATH_MAX], file[PATH_MAX];
	if (!realpath(path, resolved)) {
		if (errno == ENOENT && !given)
			return ada_error_set(error, ENOENT, "no session in ./" LATEST ": name a session directory, or record one with "
					     "`ada trace PROGRAM`");
		return errno == ENOENT ? ada_error_set(error, ENOENT, "%s: no such session directory", path) :
					 ada_error_system(error, errno, "%s", path);
	}
	if (!ada_is_directory(resolved))
		return ada_error_set(error, ENOTDIR, "%s is no session: it is a file, and a session is a directory", path);
	for (int level = 0; level < 2; level++) {
		if (ada_path(file, "%s/session.json", resolved))
			break;
		if (!access(file, F_OK)) {
			memcpy(live->session, resolved, sizeof(resolved));
			return 0;
		}
		if (errno != ENOENT)
			return ada_error_system(error, errno, "%s", path);
		char *slash = strrchr(resolved, '/');
		if (!slash || slash == resolved)
			break;
		*slash = 0;
	}
	if (!ada_path(file, "%s/latest/session.json", path) && !access(file, F_OK))
		return ada_error_set(error, EBADMSG, "%s is no session, but holds some: name one of them, as %s/latest", path, path);
	return ada_error_set(error, EBADMSG, "%s is no session: it holds no session.json", path);
}

static int say_ended(const struct ada_live *live, struct ada_error *error)
{
	return ada_error_set(error, ESRCH, "session %s has ended", live->session);
}

int ada_live_find(struct ada_live *live, const char *given, struct ada_error *error)
{
	char file[PATH_MAX];
	json_object *document = NULL;
	int rc = find_directory(live, given, error);
	if (rc)
		return rc;
	if (ada_path(file, "%s/session.json", live->session))
		return ada_error_system(error, ENAMETOOLONG, "%s", live->session);
	rc = ada_json_read(&document, file, error);
	if (rc)
		return rc;
	const char *path = ada_json_text(document, "control", "");
	live->address.sun_family = AF_UNIX;
	if (!*path || strlen(path) >= sizeof(live->address.sun_path))
		rc = say_ended(live, error);
	else
		strcpy(live->address.sun_path, path);
	json_object_put(document);
	return rc;
}

static int connect_to(const struct ada_live *live, unsigned int seconds, int *result, struct ada_error *error)
{
	struct timeval timeout = { .tv_sec = seconds };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return ada_error_system(error, errno, "socket");
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));	/* of connect too */
	if (!connect(fd, (const struct sockaddr *)&live->address, sizeof(live->address))) {
		*result = fd;
		return 0;
	}
	int code = errno;
	close(fd);
	if (code == ENOENT || code == ECONNREFUSED)
		return ada_error_set(error, ESRCH, "session %s has ended: its recorder is gone", live->session);
	if (code == EACCES || code == EPERM)
		return ada_error_set(error, code, "session %s belongs to another user: only that user and root may speak to its recorder",
				     live->session);
	if (code == EAGAIN)
		return ada_error_set(error, ETIMEDOUT, "session %s: its recorder doesn't answer", live->session);
	return ada_error_system(error, code, "session %s", live->session);
}

/* Up to the end of the line; *text is malloc'ed. */
static int read_line(int fd, const struct ada_live *live, char **text, struct ada_error *error)
{
	size_t count = 0, room = 0;
	*text = NULL;
	for (;;) {
		if (room - count < 2) {
			char *more = room < ANSWER_BYTES_MAX ? realloc(*text, room = room ? 2 * room : 65536) : NULL;
			if (!more)
				return ada_error_system(error, ENOMEM, "session %s", live->session);
			*text = more;
		}
		ssize_t got = recv(fd, *text + count, room - count - 1, 0);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && errno == EAGAIN)
			return ada_error_set(error, ETIMEDOUT, "session %s: its recorder doesn't answer", live->session);
		if (got < 0 && errno != ECONNRESET)
			return ada_error_system(error, errno, "session %s", live->session);
		if (got <= 0)
			return say_ended(live, error);
		count += (size_t)got;
		(*text)[count] = 0;
		if ((*text)[count - 1] == '\n')
			return 0;
	}
}

int ada_live_ask(const struct ada_live *live, json_object *request, unsigned int seconds, json_object **answer,
		 struct ada_error *error)
{
	char *text = NULL;
	int fd = -1, rc = connect_to(live, seconds, &fd, error);
	if (!rc) {
		const char *line = json_object_to_json_string_ext(request, JSON_C_TO_STRING_PLAIN);
		/* Where the other side has gone, reading says so. */
		if (send(fd, line, strlen(line), MSG_NOSIGNAL) > 0)
			send(fd, "\n", 1, MSG_NOSIGNAL);
		rc = read_line(fd, live, &text, error);
		close(fd);
	}
	json_object_put(request);
	if (rc) {
		free(text);
		return rc;
	}
	*answer = json_tokener_parse(text);
	free(text);
	if (ada_json_bool(*answer, "ok", false))
		return 0;
	rc = ada_error_set(error, EINVAL, "%s", ada_json_text(*answer, "error", "the recorder's answer makes no sense"));
	json_object_put(*answer);
	*answer = NULL;
	return rc;
}
