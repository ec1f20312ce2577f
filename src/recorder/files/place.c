#include "recorder/files/place.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/file.h"
#include "recorder/files/json.h"
#include "recorder/host/page.h"

static void stamp(char *text, size_t size, const char *format, const struct tm *when)
{
	if (!strftime(text, size, format, when))
		*text = 0;
}

/* Room for the manifests and session.json of a session that filled the disk. */
#define RESERVE_BYTES (128 << 10)
#define RESERVE_LEAST (4 << 10)

/* A full disk may have less room for it than was asked for. */
static int make_reserve(const struct ada_session *session, off_t least, struct ada_error *error)
{
	int fd = openat(session->fd, ".reserve", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600), code = fd < 0 ? errno : ENOSPC;

	for (off_t bytes = RESERVE_BYTES; fd >= 0 && bytes >= least && code; bytes -= RESERVE_LEAST)
		code = posix_fallocate(fd, 0, bytes);
	if (fd >= 0)
		close(fd);
	return code ? ada_error_system(error, code, "%s can't hold a session (--output=DIR: elsewhere)", session->output) : 0;
}

void ada_session_free_reserve(const struct ada_session *session)
{
	unlinkat(session->fd, ".reserve", 0);
}

static pthread_mutex_t reserve = PTHREAD_MUTEX_INITIALIZER;

void ada_session_reserve_lock(void)
{
	pthread_mutex_lock(&reserve);
}

bool ada_session_reserve_try(void)
{
	return !pthread_mutex_trylock(&reserve);
}

void ada_session_reserve_unlock(void)
{
	pthread_mutex_unlock(&reserve);
}

/* Then the reserve gets back what the new file doesn't take, and what the old one took. */
static int replace_by_reserve(const struct ada_paper *paper, json_object *object, struct ada_error *error)
{
	struct ada_error unused = { "" };
	int status;

	ada_session_reserve_lock();
	ada_session_free_reserve(paper->session);
	status = ada_json_replace(paper->path, object, error);
	if (make_reserve(paper->session, RESERVE_LEAST, &unused))
		ada_session_free_reserve(paper->session); /* the disk hasn't even room for that */
	ada_session_reserve_unlock();
	return status;
}

int ada_paper_replace(const struct ada_paper *paper, json_object *object, struct ada_error *error)
{
	struct ada_error why = { "" };
	int status = paper->soon ? ada_json_replace_soon(paper->path, json_object_get(object), &why) :
				   ada_json_replace(paper->path, json_object_get(object), &why);

	if (paper->session && (status == -ENOSPC || status == -EDQUOT))
		return replace_by_reserve(paper, object, error);
	json_object_put(object);
	return status ? ada_error_set(error, -status, "%s", why.text) : 0;
}

static void name_session(struct ada_session *session)
{
	struct timespec now;
	struct tm local, utc;
	size_t length;

	session->start_ns = ada_clock_boottime_ns();
	clock_gettime(CLOCK_REALTIME, &now);
	localtime_r(&now.tv_sec, &local);
	gmtime_r(&now.tv_sec, &utc);
	stamp(session->name, sizeof session->name, "session_%Y%m%d_%H%M%S", &local);
	stamp(session->started, sizeof session->started, "%Y-%m-%dT%H:%M:%S", &utc);
	length = strlen(session->started);
	snprintf(session->started + length, sizeof session->started - length, ".%09ldZ", now.tv_nsec);
}

/* Makes the directory in --output: other users may write there, so an existing directory is never taken for ours. */
static int add_directory(struct ada_session *session, struct ada_error *error)
{
	char base[sizeof session->name];

	memcpy(base, session->name, sizeof base);
	for (int number = 2; (session->fd = ada_directory_add(session->output_fd, session->name)) == -EEXIST; number++)
		snprintf(session->name, sizeof session->name, "%.32s_%d", base, number);
	if (session->fd == -EPERM)
		return ada_error_set(error, EPERM, "%s: what is made in it becomes another user's", session->output);
	if (session->fd < 0)
		return ada_error_system(error, -session->fd, "%s: no session can be made in it (--output=DIR: elsewhere)", session->output);
	/* While we record nobody else rewrites session.json (src/recover, atf/session/anchor.h); no loss where it fails. */
	flock(session->fd, LOCK_EX | LOCK_NB);
	ada_directory_path(session->fd, session->root);
	return ada_path(session->directory, "%s/%s", session->output, session->name) ?
		       ada_error_system(error, ENAMETOOLONG, "%s", session->output) :
		       0;
}

int ada_session_make(struct ada_session *session, const char *output, struct ada_error *error)
{
	char place[ADA_DIRECTORY_PATH_BYTES];
	int status;

	session->output_fd = ada_directory_open(output, ADA_DIRECTORY_MAKE, &session->output_made, error);
	if (session->output_fd < 0)
		return session->output_fd;
	ada_directory_path(session->output_fd, place);
	status = realpath(place, session->output) ? 0 : ada_error_system(error, errno, "%s: no /proc to find it by", output);
	if (!status) {
		session->page_fault_ns = ada_page_fault_ns();
		name_session(session);
		status = add_directory(session, error);
	}
	if (!status)
		status = make_reserve(session, RESERVE_BYTES, error);
	if (status)
		ada_session_remove(session);
	return status;
}

int ada_session_publish(const struct ada_session *session, struct ada_error *error)
{
	char temporary[40];

	snprintf(temporary, sizeof temporary, ".latest.%d", getpid());
	unlinkat(session->output_fd, temporary, 0);
	if (symlinkat(session->name, session->output_fd, temporary) ||
	    renameat(session->output_fd, temporary, session->output_fd, "latest")) {
		int code = errno;

		unlinkat(session->output_fd, temporary, 0);
		return ada_error_system(error, code, "%s/latest can't be pointed to this session", session->output);
	}
	return 0;
}

void ada_session_remove(struct ada_session *session)
{
	const char *name;
	int above;

	if (session->fd >= 0) {
		ada_session_free_reserve(session);
		unlinkat(session->fd, "session.json", 0);
		unlinkat(session->fd, "sched.atf", 0);
		unlinkat(session->fd, "samples.atf", 0);
		unlinkat(session->fd, "sched.0.atf", 0);
		unlinkat(session->fd, "samples.0.atf", 0);
		unlinkat(session->output_fd, session->name, AT_REMOVEDIR);
	}
	name = strrchr(session->output, '/');
	above = session->output_made && name ? openat(session->output_fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	if (above >= 0) {
		unlinkat(above, name + 1, AT_REMOVEDIR);
		close(above);
	}
	ada_session_leave(session);
}

void ada_session_leave(struct ada_session *session)
{
	if (session->fd >= 0)
		close(session->fd);
	if (session->output_fd >= 0)
		close(session->output_fd);
	session->fd = session->output_fd = -1;
}
