/* Finds the files of a lane, and reads them as one. A recorder may let the oldest go meanwhile: then it is looked for anew. */
#include "atf/sched/sched_list.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/array.h"
#include "base/file.h"

#define ATTEMPTS 20

struct part {
	struct atf_sched *file;
	uint64_t before; /* events of all before it */
	uint32_t number;
	bool gap; /* files between the one before and it have gone */
};

struct atf_sched_list {
	ADA_ARRAY(struct part) parts;
	uint64_t count, since; /* since: events of files that are kept */
	bool aged, damaged;
};

/* --- names ------------------------------------------------------------------------------------------------------------------ */

void atf_sched_name(char file[NAME_MAX], const struct atf_sched_names *names, const char *name, uint32_t number)
{
	if (names->plain)
		snprintf(file, NAME_MAX, "%s.atf", name);
	else
		snprintf(file, NAME_MAX, "%s.%" PRIu32 ".atf", name, number);
}

/* False: it is no file of the list. */
static bool number_of(const char *file, const char *name, uint32_t *number)
{
	const struct atf_sched_names list = { .plain = false };
	size_t length = strlen(name);
	char same[NAME_MAX];

	if (strncmp(file, name, length) || sscanf(file + length, ".%" SCNu32, number) != 1)
		return false;
	atf_sched_name(same, &list, name, *number);
	return !strcmp(file, same);
}

bool atf_sched_names_find(struct atf_sched_names *names, const char *directory, const char *name)
{
	DIR *opened = opendir(directory);
	uint32_t number, count = 0;
	struct dirent *entry;
	char plain[NAME_MAX];

	*names = (struct atf_sched_names){ .plain = true, .end = 1 };
	atf_sched_name(plain, names, name, 0);
	while (opened && (entry = readdir(opened))) {
		if (!strcmp(entry->d_name, plain)) {
			*names = (struct atf_sched_names){ .plain = true, .end = 1 };
			count = 1;
			break;
		}
		if (!number_of(entry->d_name, name, &number) || number == UINT32_MAX)
			continue;
		names->plain = false;
		names->first = !count || number < names->first ? number : names->first;
		names->end = !count || number >= names->end ? number + 1 : names->end;
		count++;
	}
	if (opened)
		closedir(opened);
	names->missing = count ? names->end - names->first - count : 0;
	return count;
}

void atf_sched_kept_name(char file[NAME_MAX], const char *name, uint32_t number)
{
	snprintf(file, NAME_MAX, "%s.kept.%" PRIu32 ".atf", name, number);
}

static int compare_numbers(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	return a < b ? -1 : a > b;
}

int atf_sched_kept_find(atf_sched_numbers *numbers, const char *directory, const char *name)
{
	DIR *opened = opendir(directory);
	struct dirent *entry;
	char kept[NAME_MAX];
	uint32_t number;
	int status = 0;

	*numbers = (atf_sched_numbers){};
	snprintf(kept, sizeof kept, "%s.kept", name);
	while (!status && opened && (entry = readdir(opened)))
		if (number_of(entry->d_name, kept, &number) && ada_array_push(numbers, number))
			status = -ATF_ERROR_MEMORY;
	if (opened)
		closedir(opened);
	if (numbers->count)
		qsort(numbers->items, numbers->count, sizeof *numbers->items, compare_numbers);
	return status;
}

/* --- reading ---------------------------------------------------------------------------------------------------------------- */

static int take_part(struct atf_sched_list *list, const char *directory, const char *file, uint32_t number, struct atf_message *message)
{
	const struct part *last = list->parts.count ? &list->parts.items[list->parts.count - 1] : NULL;
	struct part part = { .before = list->count, .number = number, .gap = last && last->number + 1 != number };
	struct atf_message said;
	char path[PATH_MAX];
	uint64_t count;
	int status;

	if (ada_path(path, "%s/%s", directory, file))
		return atf_fail(message, ATF_ERROR_SYSTEM, "%s: path too long", file);
	status = atf_sched_open(&part.file, path, &said);
	if (*said.text)
		*message = said;
	if (status)
		return status;
	if (ada_array_push(&list->parts, part)) {
		atf_sched_close(part.file);
		return atf_fail(message, ATF_ERROR_MEMORY, "out of memory");
	}
	atf_sched_events(part.file, &count);
	list->count += count;
	list->damaged |= atf_sched_completeness(part.file) == ATF_DAMAGED;
	return 0;
}

/* Kept ones first: one that was looked up under its name in the list, and has been renamed since, isn't there then. */
static int open_all(struct atf_sched_list *list, const struct atf_sched_names *names, const char *directory, const char *name,
		    struct atf_message *message)
{
	atf_sched_numbers kept;
	char file[NAME_MAX];
	int status = names->plain ? 0 : atf_sched_kept_find(&kept, directory, name);

	if (status)
		atf_fail(message, ATF_ERROR_MEMORY, "out of memory");
	list->aged = names->first;
	for (size_t i = 0; !names->plain && i < kept.count && !status; i++) {
		atf_sched_kept_name(file, name, kept.items[i]);
		status = take_part(list, directory, file, kept.items[i], message);
	}
	list->since = list->count;
	for (uint32_t i = names->first; i < names->end && !status; i++) {
		atf_sched_name(file, names, name, i);
		status = take_part(list, directory, file, i, message);
	}
	if (!names->plain)
		ada_array_free(&kept);
	return status;
}

int atf_sched_list_open(struct atf_sched_list **opened, const char *directory, const char *name, struct atf_message *message)
{
	struct atf_sched_names names;
	struct atf_sched_list *list;
	int status = 0;

	*opened = NULL;
	for (int i = 0; i < ATTEMPTS; i++) {
		atf_say(message, "%s", "");
		if (!atf_sched_names_find(&names, directory, name))
			return 0;
		list = calloc(1, sizeof *list);
		if (!list)
			return atf_fail(message, ATF_ERROR_MEMORY, "out of memory");
		status = names.missing ? atf_fail(message, ATF_ERROR_CORRUPT, "%s/%s.*.atf: %" PRIu32 " of its files are missing",
						  directory, name, names.missing) :
					 open_all(list, &names, directory, name, message);
		/* One whose end was written between the look at its size and that at its header seems to be cut. */
		if (!status && (!list->damaged || i + 1 == ATTEMPTS)) {
			*opened = list;
			return 0;
		}
		atf_sched_list_close(list);
		if (status && names.plain)
			break;
	}
	return status;
}

void atf_sched_list_close(struct atf_sched_list *list)
{
	if (!list)
		return;
	for (size_t i = 0; i < list->parts.count; i++)
		atf_sched_close(list->parts.items[i].file);
	ada_array_free(&list->parts);
	free(list);
}

bool atf_sched_list_damaged(const struct atf_sched_list *list)
{
	return list->damaged;
}

bool atf_sched_list_has_aged(const struct atf_sched_list *list)
{
	return list && list->aged;
}

uint64_t atf_sched_list_count(const struct atf_sched_list *list)
{
	return list ? list->count : 0;
}

uint64_t atf_sched_list_since(const struct atf_sched_list *list)
{
	return list ? list->since : 0;
}

uint64_t atf_sched_list_gap(const struct atf_sched_list *list, uint64_t from)
{
	for (size_t i = 0; i < list->parts.count; i++)
		if (list->parts.items[i].gap && list->parts.items[i].before >= from)
			return list->parts.items[i].before;
	return list->count;
}

const AtfSchedEvent *atf_sched_list_at(const struct atf_sched_list *list, uint64_t number)
{
	size_t behind = ada_first_not(i, 0, list->parts.count, list->parts.items[i].before <= number);
	const struct part *part = &list->parts.items[behind - 1];
	uint64_t count;

	return atf_sched_events(part->file, &count) + (number - part->before);
}
