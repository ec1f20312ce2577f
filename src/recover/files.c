/* Gives index files their footers; removes what a dead recorder had begun and nobody will end. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "abi/file.h"
#include "abi/record.h"
#include "atf/sched/sched_list.h"
#include "base/file.h"
#include "recover/internal.h"

void ada_recover_problem(struct ada_recovery *recovery, const char *format, ...)
{
	va_list arguments;
	char *line;

	va_start(arguments, format);
	if (vasprintf(&line, format, arguments) >= 0 && ada_array_push(&recovery->result->problems, line))
		free(line);
	va_end(arguments);
}

/* Whether the entry itself is of this kind. Links don't count: recovery writes. */
static bool is_kind(const char *path, mode_t kind)
{
	struct stat status;

	return !lstat(path, &status) && (status.st_mode & S_IFMT) == kind;
}

static bool has_ending(const char *name, const char *ending)
{
	size_t length = strlen(name), tail = strlen(ending);

	return length > tail && !strcmp(name + length - tail, ending);
}

struct walk {
	struct ada_recovery *recovery;
	const char *process; /* its directory's name; NULL: of the session */
	uint32_t thread;
	struct ada_error *error;
};

/* Calls what() for each entry, by name; stops at a failure. Recovery leaves links alone. */
static int each_entry(struct walk *walk, const char *directory, mode_t kind,
		      int (*what)(struct walk *walk, const char *path, const char *name))
{
	struct dirent **entries = NULL;
	int count = scandir(directory, &entries, NULL, versionsort), result = 0;
	char path[PATH_MAX];

	if (count < 0)
		return errno == ENOENT || errno == ENOTDIR ? 0 : ada_error_system(walk->error, errno, "%s", directory);
	for (int i = 0; i < count; i++) {
		const char *name = entries[i]->d_name;

		if (!result && strcmp(name, ".") && strcmp(name, "..") && !ada_path(path, "%s/%s", directory, name) && is_kind(path, kind))
			result = what(walk, path, name);
		free(entries[i]);
	}
	free(entries);
	return result;
}

static bool is_index(const char *name)
{
	unsigned int number;
	int end = 0;

	if (has_ending(name, ".atp"))
		return !strcmp(name, "index.atp") || (sscanf(name, "index.%u.atp%n", &number, &end) == 1 && end && !name[end]);
	return !strcmp(name, "index.atf") || (sscanf(name, "index.%u.atf%n", &number, &end) == 1 && end && !name[end]);
}

/* Of a plain one: a packed one has whole blocks, or recovery names what it lost. */
static bool is_torn(const char *path)
{
	struct atf_index *index = NULL;
	struct stat status;
	bool torn = !has_ending(path, ".atp") && !stat(path, &status) && !atf_index_open(&index, path, NULL) &&
		    atf_index_completeness(index) == ATF_NO_FOOTER &&
		    ((uint64_t)status.st_size - atf_index_header(index)->events_offset) % sizeof(struct ada_event);

	atf_index_close(index);
	return torn;
}

static int finish_index(struct walk *walk, const char *path)
{
	struct ada_torn torn = { .thread = walk->thread };
	struct atf_message message;
	int status = 0;

	snprintf(torn.process, sizeof torn.process, "%s", walk->process);
	if (is_torn(path) && ada_array_push(&walk->recovery->torn, torn))
		return ada_error_system(walk->error, ENOMEM, "%s", path);
	errno = 0;
	status = atf_index_recover(path, &message);
	if (status == -ATF_ERROR_SYSTEM || status == -ATF_ERROR_MEMORY)
		return ada_error_set(walk->error, errno ? errno : EIO, "%s", message.text);
	if (status)
		ada_recover_problem(walk->recovery, "%s", message.text);
	return 0;
}

/* A file that was made, but has nothing in it yet, goes. */
static int take_thread_file(struct walk *walk, const char *path, const char *name)
{
	struct stat status;

	if (has_ending(name, ".tmp"))
		unlink(path); /* it would have taken a file's place: totals, or a segment that is compressed */
	if (!strcmp(name, "sums"))
		unlink(path); /* of events that recovery may move, or give up */
	if ((!has_ending(name, ".atf") && !has_ending(name, ".atp")) || lstat(path, &status))
		return 0;
	if (!status.st_size)
		return unlink(path) ? ada_error_system(walk->error, errno, "%s", path) : 0;
	return is_index(name) ? finish_index(walk, path) : 0;
}

static int take_thread(struct walk *walk, const char *path, const char *name)
{
	int result;

	if (!ada_directory_number(name, "thread_", &walk->thread))
		return 0;
	result = ada_recover_remove_aged(path, walk->error) ?: each_entry(walk, path, S_IFREG, take_thread_file);
	rmdir(path); /* where nothing is in it */
	return result;
}

/* Removes what ada_file_replace was writing when it was killed, or the scheduling lane making. */
static int remove_temporary(struct walk *walk, const char *path, const char *name)
{
	bool ours = strstr(name, ".json.") || strstr(name, ".tsv.") || strstr(name, ".atf.");

	if (ours && has_ending(name, ".tmp"))
		unlink(path);
	return 0;
}

/* Mends a table that was being written: one without a whole first line goes, of others a partial last line. */
static int mend_table(struct walk *walk, const char *path, const char *name)
{
	size_t length, whole;
	char *text;

	if (!has_ending(name, ".tsv"))
		return remove_temporary(walk, path, name);
	if (ada_file_read_regular(path, &text, &length, walk->error))
		return -EIO;
	for (whole = length; whole && text[whole - 1] != '\n'; whole--)
		;
	free(text);
	if (whole == length && length)
		return 0;
	if (whole ? truncate(path, (off_t)whole) : unlink(path))
		return ada_error_system(walk->error, errno, "%s", path);
	return 0;
}

static int remove_table(struct walk *walk, const char *path, const char *name)
{
	if (has_ending(name, ".tsv"))
		unlink(path);
	return 0;
}

/* A process without a manifest has nothing recorded, since the manifest comes first. */
static void remove_unwritten(struct walk *walk, const char *path)
{
	char part[PATH_MAX];

	if (ada_path(part, "%s/manifest.json", path) || !access(part, F_OK) || ada_path(part, "%s/thread_0", path) || !access(part, F_OK) ||
	    ada_path(part, "%s/modules", path))
		return;
	each_entry(walk, part, S_IFREG, remove_table);
	rmdir(part);
	rmdir(path);
}

static int take_process(struct walk *walk, const char *path, const char *name)
{
	char modules[PATH_MAX];
	uint32_t number;
	int result;

	if (!ada_directory_number(name, "pid_", &number))
		return 0;
	walk->process = name;
	result = each_entry(walk, path, S_IFDIR, take_thread);
	if (!result)
		result = each_entry(walk, path, S_IFREG, remove_temporary);
	if (!result && !ada_path(modules, "%s/modules", path) && is_kind(modules, S_IFDIR))
		result = each_entry(walk, modules, S_IFREG, mend_table);
	if (!result)
		remove_unwritten(walk, path);
	return result;
}

/* What the kernel had not handed over is lost, and nobody counts it: the threads go on as the last record left them. */
static int finish_sched(struct walk *walk, const char *session, const char *file)
{
	struct atf_message message;
	char path[PATH_MAX];
	int status;

	if (ada_path(path, "%s/%s", session, file) || access(path, F_OK))
		return 0;
	errno = 0;
	status = atf_sched_recover(path, &message);
	if (status == -ATF_ERROR_SYSTEM || status == -ATF_ERROR_MEMORY)
		return ada_error_set(walk->error, errno ? errno : EIO, "%s: %s", path, atf_error_text(status));
	if (status)
		ada_recover_problem(walk->recovery, "%s", message.text);
	return 0;
}

static int finish_lane(struct walk *walk, const char *session, const char *lane)
{
	struct atf_sched_names names;
	atf_sched_numbers kept;
	char file[NAME_MAX];
	int result = atf_sched_kept_find(&kept, session, lane);

	if (result)
		result = ada_error_set(walk->error, ENOMEM, "%s: %s", session, atf_error_text(result));
	for (size_t i = 0; i < kept.count && !result; i++) {
		atf_sched_kept_name(file, lane, kept.items[i]);
		result = finish_sched(walk, session, file);
	}
	ada_array_free(&kept);
	if (result || !atf_sched_names_find(&names, session, lane))
		return result;
	for (uint32_t i = names.first; i < names.end && !result; i++) {
		atf_sched_name(file, &names, lane, i);
		result = finish_sched(walk, session, file);
	}
	return result;
}

int ada_recover_files(struct ada_recovery *recovery, struct ada_error *error)
{
	const char *session = recovery->options->session;
	struct walk walk = { .recovery = recovery, .error = error };
	char reserve[PATH_MAX];
	int result;

	/* The room that the recorder kept for this: a full disk has no other. */
	if (!ada_path(reserve, "%s/.reserve", session))
		unlink(reserve);
	result = each_entry(&walk, session, S_IFREG, remove_temporary) ?:
			 finish_lane(&walk, session, "sched")	       ?:
									 finish_lane(&walk, session, "samples");
	return result ? result : each_entry(&walk, session, S_IFDIR, take_process);
}
