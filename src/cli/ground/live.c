#include "cli/ground/live.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>
#include "base/directory.h"
#include "base/file.h"
#include "cli/ground/options.h"
#include "query/session/json.h"
#include "query/session/none.h"
#include "recorder/control/control.h"
#include "recorder/process/server.h"

#define CONNECT_MS 10000
#define MARK_MS 10000
#define RULE_MS 60000 /* patching functions late stops a large program for a while */
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
	const char *path = given ? given : ADA_LATEST;
	char resolved[PATH_MAX], file[PATH_MAX];

	if (!realpath(path, resolved)) {
		if (errno == ENOENT && !given)
			return ada_error_set(error, ENOENT,
					     "no session in ./" ADA_LATEST ": name a session directory, or record one with "
					     "`ada trace PROGRAM`");
		return errno == ENOENT ? ada_error_set(error, ENOENT,
						       "%s: no such session directory: without a name it is ./" ADA_LATEST
						       ", and `ada trace PROGRAM` records one",
						       path) :
					 ada_error_system(error, errno, "%s", path);
	}
	if (!ada_is_directory(resolved))
		return ada_error_set(error, ENOTDIR, "%s is no session: it is a file, and a session is a directory", path);
	for (int level = 0; level < 2; level++) {
		char *slash;

		if (ada_path(file, "%s/session.json", resolved))
			break;
		if (!access(file, F_OK)) {
			memcpy(live->session, resolved, sizeof resolved);
			return 0;
		}
		if (errno != ENOENT)
			return ada_error_system(error, errno, "%s", path);
		slash = strrchr(resolved, '/');
		if (!slash || slash == resolved)
			break;
		*slash = 0;
	}
	return ada_session_none(path, error);
}

static int say_ended(const struct ada_live *live, struct ada_error *error)
{
	return ada_error_set(error, ESRCH, "session %s has ended: `ada info` says what it holds", live->session);
}

/* Reads by one descriptor: content and owner belong together. */
static int read_session(struct ada_live *live, json_object **document, struct ada_error *error)
{
	char file[PATH_MAX], *text = NULL;
	struct stat info;
	size_t length;
	int fd, status;

	if (ada_path(file, "%s/session.json", live->session))
		return ada_error_system(error, ENAMETOOLONG, "%s", live->session);
	fd = ada_file_open_regular(file, error);
	if (fd < 0)
		return fd;
	status = fstat(fd, &info) ? -errno : ada_file_read_fd(fd, &text, &length);
	close(fd);
	if (status)
		return ada_error_system(error, -status, "can't read %s", file);
	live->user = info.st_uid;
	status = ada_json_parse(document, text, file, error);
	free(text);
	return status;
}

int ada_live_locate(struct ada_live *live, const char *given, struct ada_error *error)
{
	json_object *document = NULL;
	int status = find_directory(live, given, error);

	if (!status)
		status = read_session(live, &document, error);
	if (status)
		return status;
	if (ada_path(live->control, "%s", ada_json_text(document, "control", "")))
		*live->control = 0;
	json_object_put(document);
	return 0;
}

int ada_live_find(struct ada_live *live, const char *given, struct ada_error *error)
{
	int status = ada_live_locate(live, given, error);

	return !status && !*live->control ? say_ended(live, error) : status;
}

/* Who has locked the session's directory: the recorder, while it lives, also where its socket lies behind other mounts than ours. 0:
 * nobody, or a process that isn't visible here. */
static pid_t find_locker(const struct ada_live *live)
{
	char line[256];
	struct stat info;
	pid_t found = 0;
	FILE *locks = stat(live->session, &info) ? NULL : fopen("/proc/locks", "re");

	while (locks && !found && fgets(line, sizeof line, locks)) {
		unsigned int major, minor;
		unsigned long inode;
		int pid;

		/* "1: FLOCK  ADVISORY  WRITE 1234 fd:00:5678 0 EOF" */
		if (sscanf(line, "%*d: FLOCK %*s %*s %d %x:%x:%lu", &pid, &major, &minor, &inode) == 4 && pid > 0 && inode == info.st_ino &&
		    makedev(major, minor) == info.st_dev)
			found = pid;
	}
	if (locks)
		fclose(locks);
	return found;
}

/* Opens the socket's directory, if need be through the recorder's root, whose /tmp may be another (PrivateTmp=, containers). */
static int open_place(const struct ada_live *live, const char *path)
{
	char seen[PATH_MAX];
	int directory = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	pid_t locker = directory < 0 && errno == ENOENT ? find_locker(live) : 0;

	if (locker && !ada_path(seen, "/proc/%d/root%s", locker, path))
		directory = open(seen, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return directory < 0 ? -errno : directory;
}

/* session.json is whatever its owner wrote. So we speak only to sockets of that user's recorders, never to one that might take a line for
 * a command. */
static int open_directory(const struct ada_live *live, int *directory)
{
	char path[PATH_MAX];
	struct stat info;
	char *slash, *name;

	memcpy(path, live->control, sizeof path);
	slash = strrchr(path, '/');
	if (*path != '/' || slash == path || strcmp(slash, "/" ADA_CONTROL_NAME))
		return -EBADMSG;
	*slash = 0;
	name = strrchr(path, '/') + 1;
	if (strncmp(name, ADA_SERVER_PREFIX, sizeof ADA_SERVER_PREFIX - 1))
		return -EBADMSG;
	*directory = open_place(live, path);
	if (*directory < 0)
		return *directory == -ENOTDIR || *directory == -ELOOP ? -EBADMSG : *directory;
	return fstat(*directory, &info) ? -errno : info.st_uid == live->user && !(info.st_mode & 022) ? 0 : -EBADMSG;
}

static bool is_users(const struct ada_live *live, int fd)
{
	struct ucred peer;
	socklen_t length = sizeof peer;

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) && peer.uid == live->user;
}

/* Connects through the directory that was looked at. 0, or -errno. */
static int connect_in(const struct ada_live *live, int directory, int fd)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	char place[ADA_DIRECTORY_PATH_BYTES];

	ada_directory_path(directory, place);
	snprintf(address.sun_path, sizeof address.sun_path, "%s/" ADA_CONTROL_NAME, place);
	if (connect(fd, (const struct sockaddr *)&address, sizeof address))
		return -errno;
	return is_users(live, fd) ? 0 : -EBADMSG;
}

static int connect_to(const struct ada_live *live, unsigned int ms, int *result, struct ada_error *error)
{
	struct timeval timeout = { .tv_sec = (time_t)ms / 1000, .tv_usec = (suseconds_t)(ms % 1000) * 1000 };
	int directory = -1, fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int status;

	if (fd < 0)
		return ada_error_system(error, errno, "socket");
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout); /* of connect too */
	status = open_directory(live, &directory);
	if (!status)
		status = connect_in(live, directory, fd);
	if (directory >= 0)
		close(directory);
	if (!status) {
		*result = fd;
		return 0;
	}
	close(fd);
	if (status == -ENOENT || status == -ECONNREFUSED)
		return ada_error_set(error, ESRCH, "session %s has ended: its recorder is gone; `ada info` says what it holds",
				     live->session);
	if (status == -EACCES || status == -EPERM)
		return ada_error_set(error, -status,
				     "session %s belongs to another user: only that user and root may speak to its recorder",
				     live->session);
	if (status == -EBADMSG)
		return ada_error_set(error, EBADMSG, "session %s: its session.json names %s, which is no socket of a recorder of its user",
				     live->session, live->control);
	if (status == -EAGAIN)
		return ada_error_set(error, ETIMEDOUT, "session %s: its recorder doesn't answer", live->session);
	return ada_error_system(error, -status, "session %s", live->session);
}

pid_t ada_live_recorder(const struct ada_live *live)
{
	struct ucred peer = { .pid = 0 };
	socklen_t length = sizeof peer;
	int fd = -1;

	if (!*live->control || connect_to(live, CONNECT_MS, &fd, NULL))
		return 0;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length))
		peer.pid = 0;
	close(fd);
	return peer.pid;
}

bool ada_live_is_dead(const struct ada_live *live)
{
	int fd = -1, status = *live->control ? connect_to(live, CONNECT_MS, &fd, NULL) : 0;

	if (fd >= 0)
		close(fd);
	return status == -ESRCH;
}

/* Reads up to the end of the line; *text is malloc'ed. */
static int read_line(int fd, const struct ada_live *live, char **text, struct ada_error *error)
{
	size_t count = 0, room = 0;

	*text = NULL;
	for (;;) {
		ssize_t got;

		if (room - count < 2) {
			char *more = room < ANSWER_BYTES_MAX ? realloc(*text, room = room ? 2 * room : 65536) : NULL;

			if (!more)
				return ada_error_system(error, ENOMEM, "session %s", live->session);
			*text = more;
		}
		got = recv(fd, *text + count, room - count - 1, 0);
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

int ada_live_ask(const struct ada_live *live, json_object *request, unsigned int ms, json_object **answer, struct ada_error *error)
{
	char *text = NULL;
	int fd = -1, status = connect_to(live, ms, &fd, error);

	if (!status) {
		const char *line = json_object_to_json_string_ext(request, JSON_C_TO_STRING_PLAIN);

		/* If the other side has gone, reading will say so. */
		if (send(fd, line, strlen(line), MSG_NOSIGNAL) > 0)
			send(fd, "\n", 1, MSG_NOSIGNAL);
		status = read_line(fd, live, &text, error);
		close(fd);
	}
	json_object_put(request);
	if (status) {
		free(text);
		return status;
	}
	*answer = json_tokener_parse(text);
	free(text);
	if (ada_json_bool(*answer, "ok", false))
		return 0;
	status = ada_error_set(error, EINVAL, "%s", ada_json_text(*answer, "error", "the recorder's answer makes no sense"));
	json_object_put(*answer);
	*answer = NULL;
	return status;
}

int ada_live_mark(const struct ada_live *live, const char *label, struct ada_live_mark *mark, struct ada_error *error)
{
	json_object *request = ada_live_request("mark"), *answer;
	int status;

	if (label)
		json_object_object_add(request, "label", json_object_new_string(label));
	status = ada_live_ask(live, request, MARK_MS, &answer, error);
	if (status)
		return status;
	mark->processes = ada_json_u64(answer, "processes", 0);
	mark->ns = ada_json_u64(answer, "timestampNs", 0);
	json_object_put(answer);
	return 0;
}

int ada_live_add_rule(const struct ada_live *live, const char *text, struct ada_live_rule *rule, struct ada_error *error)
{
	json_object *request = ada_live_request("trigger-add"), *answer;
	int status;

	json_object_object_add(request, "rule", json_object_new_string(text));
	status = ada_live_ask(live, request, RULE_MS, &answer, error);
	if (status)
		return status;
	rule->id = ada_json_u64(answer, "id", 0);
	rule->policy_version = ada_json_u64(answer, "policyVersion", 0);
	snprintf(rule->warning, sizeof rule->warning, "%s", ada_json_text(answer, "warning", ""));
	json_object_put(answer);
	return 0;
}
