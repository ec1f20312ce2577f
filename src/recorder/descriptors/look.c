#include "recorder/descriptors/look.h"
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/clock.h"
#include "recorder/files/json.h"

bool ada_look_in_time(struct ada_look *look)
{
	look->late |= ada_clock_thread_ns() - look->start_cpu_ns > ADA_LOOK_CPU_NS ||
		      ada_clock_boottime_ns() - look->start_ns > ADA_LOOK_NS;
	look->partly |= look->late;
	return !look->late;
}

static void free_lead(struct ada_lead *lead)
{
	free(lead->target);
	free(lead->local);
	free(lead->peer);
	ada_array_free(&lead->ends);
}

void ada_look_free(struct ada_look *look)
{
	for (size_t i = 0; i < look->leads.count; i++)
		free_lead(&look->leads.items[i]);
	ada_array_free(&look->leads);
}

static bool is_socket(const char *target)
{
	return !strncmp(target, "socket:[", 8);
}

static bool is_pipe(const char *target)
{
	return !strncmp(target, "pipe:[", 6);
}

/* The N of "pipe:[N]" and "socket:[N]"; 0: it is neither. */
static uint64_t inode_of(const char *target)
{
	return is_socket(target) || is_pipe(target) ? strtoull(strchr(target, '[') + 1, NULL, 10) : 0;
}

/* Calls `take` of each descriptor of the process, until that is false. 0 or -errno. */
static int each_descriptor(struct ada_look *look, pid_t pid,
			   bool (*take)(struct ada_look *look, pid_t pid, int number, const char *target, mode_t mode))
{
	char path[40], target[PATH_MAX];
	const struct dirent *entry;
	size_t count = 0;
	DIR *directory;

	snprintf(path, sizeof path, "/proc/%d/fd", pid);
	directory = opendir(path);
	if (!directory)
		return -errno;
	while ((entry = readdir(directory))) {
		struct stat status;
		ssize_t length;

		if (!isdigit((unsigned char)*entry->d_name))
			continue;
		if (count++ == ADA_LOOK_DESCRIPTORS || !ada_look_in_time(look)) {
			look->partly = true;
			break;
		}
		length = readlinkat(dirfd(directory), entry->d_name, target, sizeof target - 1);
		if (length < 0) /* closed meanwhile */
			continue;
		target[length] = 0;
		/* The link's own mode says what the descriptor was opened for. */
		if (!is_pipe(target) || fstatat(dirfd(directory), entry->d_name, &status, AT_SYMLINK_NOFOLLOW))
			status.st_mode = 0;
		if (!take(look, pid, atoi(entry->d_name), target, status.st_mode))
			break;
	}
	closedir(directory);
	return 0;
}

static bool take_own(struct ada_look *look, pid_t pid, int number, const char *target, mode_t mode)
{
	struct ada_lead lead = {
		.number = number, .target = strdup(target), .inode = inode_of(target), .reads = mode & S_IRUSR, .writes = mode & S_IWUSR
	};

	(void)pid;
	if (!lead.target || ada_array_push(&look->leads, lead)) {
		free(lead.target);
		look->partly = true;
		return false;
	}
	return true;
}

/* Whether the other descriptor has the other end. Of a pipe, where one end is for reading and one for writing. */
static bool is_other_end(const struct ada_lead *lead, uint64_t inode, mode_t mode)
{
	if (is_socket(lead->target))
		return lead->peer_inode == inode;
	return lead->inode == inode && ((lead->reads && mode & S_IWUSR) || (lead->writes && mode & S_IRUSR));
}

static bool take_end(struct ada_look *look, pid_t pid, int number, const char *target, mode_t mode)
{
	uint64_t inode = inode_of(target);

	for (size_t i = 0; inode && i < look->leads.count; i++) {
		struct ada_lead *lead = &look->leads.items[i];

		if ((pid == look->pid && number == lead->number) || !lead->inode || !is_other_end(lead, inode, mode))
			continue;
		if (lead->ends.count == ADA_LOOK_ENDS || ada_array_push(&lead->ends, ((struct ada_end){ pid, number })))
			look->partly = true;
	}
	return true;
}

static bool any_ends(const struct ada_look *look)
{
	for (size_t i = 0; i < look->leads.count; i++)
		if (look->leads.items[i].peer_inode || is_pipe(look->leads.items[i].target))
			return true;
	return false;
}

static int compare_numbers(const void *a, const void *b)
{
	const struct ada_lead *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

int ada_look_at(struct ada_look *look, const pid_t *others, size_t count)
{
	int status;

	look->start_ns = ada_clock_boottime_ns();
	look->start_cpu_ns = ada_clock_thread_ns();
	status = each_descriptor(look, look->pid, take_own);
	if (status)
		return status;
	ada_look_sockets(look);
	if (any_ends(look)) {
		each_descriptor(look, look->pid, take_end);
		for (size_t i = 0; i < count && i < ADA_LOOK_PROCESSES; i++)
			if (others[i] != look->pid)
				each_descriptor(look, others[i], take_end);
		look->partly |= count > ADA_LOOK_PROCESSES;
	}
	if (look->leads.count)
		qsort(look->leads.items, look->leads.count, sizeof *look->leads.items, compare_numbers);
	look->end_ns = ada_clock_boottime_ns();
	return 0;
}

/* --- as JSON --------------------------------------------------------------------------------------------------------------- */

static void add_text(json_object *object, const char *key, const char *text)
{
	if (text)
		json_object_object_add(object, key, ada_json_text_of(text, strlen(text)));
}

static void add_ends(json_object *object, const struct ada_lead *lead)
{
	json_object *list = json_object_new_array();

	for (size_t i = 0; i < lead->ends.count; i++) {
		json_object *end = json_object_new_object();

		ada_json_count(end, "pid", (uint64_t)lead->ends.items[i].pid);
		ada_json_count(end, "fd", (uint64_t)lead->ends.items[i].number);
		json_object_array_add(list, end);
	}
	json_object_object_add(object, "ends", list);
}

json_object *ada_lead_json(const struct ada_lead *lead, bool paths)
{
	json_object *object = json_object_new_object();
	bool socket = is_socket(lead->target), pipe = is_pipe(lead->target), anonymous = !strncmp(lead->target, "anon_inode:", 11);

	if (!object)
		return NULL;
	ada_json_count(object, "fd", (uint64_t)lead->number);
	add_text(object, "kind", socket ? "socket" : pipe ? "pipe" : anonymous ? "anonymous" : "file");
	if (socket || pipe)
		ada_json_count(object, "inode", lead->inode);
	else if (anonymous || paths)
		add_text(object, anonymous ? "name" : "path", anonymous ? lead->target + 11 : lead->target);
	if (pipe)
		add_text(object, "access", lead->reads && lead->writes ? "both" : lead->reads ? "read" : "write");
	add_text(object, "protocol", lead->protocol);
	add_text(object, "local", lead->local);
	add_text(object, "peer", lead->peer);
	if (lead->listens)
		json_object_object_add(object, "listens", json_object_new_boolean(true));
	if (lead->accepted)
		json_object_object_add(object, "accepted", json_object_new_boolean(true));
	if (lead->ends.count)
		add_ends(object, lead);
	return object;
}
