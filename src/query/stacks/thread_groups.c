#include "query/stacks/thread_groups.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare_labels(const void *left, const void *right, void *context)
{
	char *const *labels = context;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	int result = strcmp(labels[a], labels[b]);

	return result ? result : a < b ? -1 : a > b;
}

static char *make_label(const struct ada_thread *thread)
{
	char name[sizeof thread->name + 16], *label;

	if (thread->name[0])
		snprintf(name, sizeof name, "%s", thread->name);
	else
		snprintf(name, sizeof name, "thread %u", thread->tid);
	if (thread->process->session->processes.count == 1)
		return strdup(name);
	return asprintf(&label, "%s/%s", thread->process->directory, name) < 0 ? NULL : label;
}

int ada_thread_groups_make(struct ada_thread_groups *threads, const struct ada_selection *selection)
{
	size_t count = selection->threads.count;
	uint32_t *order = calloc(count + 1, sizeof *order);

	*threads = (struct ada_thread_groups){ count, calloc(count + 1, sizeof *threads->labels),
					       calloc(count + 1, sizeof *threads->groups) };
	if (!order || !threads->labels || !threads->groups)
		goto no_memory;
	for (size_t i = 0; i < count; i++) {
		order[i] = i;
		threads->labels[i] = make_label(selection->threads.items[i]);
		if (!threads->labels[i])
			goto no_memory;
	}
	qsort_r(order, count, sizeof *order, compare_labels, threads->labels);
	for (size_t i = 0; i < count; i++) {
		bool same = i && !strcmp(threads->labels[order[i]], threads->labels[order[i - 1]]);

		threads->groups[order[i]] = same ? threads->groups[order[i - 1]] : order[i];
	}
	free(order);
	return 0;
no_memory:
	free(order);
	return -ENOMEM;
}

void ada_thread_groups_free(struct ada_thread_groups *threads)
{
	for (size_t i = 0; threads->labels && i < threads->count; i++)
		free(threads->labels[i]);
	free(threads->labels);
	free(threads->groups);
}
