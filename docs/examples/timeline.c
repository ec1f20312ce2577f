/* Prints the events of some threads of a recording in the order of time, with libatf alone.
 *
 *   cc timeline.c $(pkg-config --cflags --libs libatf) -o timeline
 *   ./timeline ada_traces/latest/pid_1234/thread_0 ada_traces/latest/pid_1234/thread_1
 */
#include <atf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	static const char *const kinds[] = { "?", "call", "return", "exception", "lost" };
	size_t count = (size_t)argc - 1, which;
	struct atf_thread **threads = calloc(count + 1, sizeof *threads);
	struct atf_message message;
	struct atf_merge *merge;
	const struct ada_event *event;
	uint64_t position;

	for (size_t i = 0; i < count; i++) {
		if (atf_thread_open(&threads[i], argv[i + 1], &message)) {
			fprintf(stderr, "%s\n", message.text);
			return 1;
		}
	}
	if (atf_merge_open(&merge, threads, count, 0, UINT64_MAX)) {
		fprintf(stderr, "no memory\n");
		return 1;
	}
	while (atf_merge_next(merge, &which, &position, &event))
		printf("%" PRIu64 " thread %zu #%" PRIu64 " %s module %u symbol %u depth %u\n", event->timestamp_ns, which, position,
		       kinds[event->event_kind <= 4 ? event->event_kind : 0], ADA_FUNCTION_MODULE(event->function_id),
		       ADA_FUNCTION_SYMBOL(event->function_id), event->call_depth);
	atf_merge_close(merge);
	for (size_t i = 0; i < count; i++)
		atf_thread_close(threads[i]);
	free(threads);
	return 0;
}
