/* How fast libatf writes, scans and merges: events per second and ns per event.
 *
 *   atf_bench [DIRECTORY]     where the files go (default /tmp); needs 512 MiB there
 *
 * Append is measured without the fsync of close, which is told apart: it is the disk's time. The merge runs over
 * threads that take turns event by event, its worst case, and over threads that run in bursts of 1000 events.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "atf.h"

#define EVENTS (8u << 20)
#define THREADS_MAX 64

static void die(const char *what, int error)
{
	fprintf(stderr, "atf_bench: %s: %s\n", what, atf_error_text(error));
	exit(1);
}

static void tell(const char *what, uint64_t events, uint64_t ns)
{
	double ns_per_event = (double)ns / (double)events;

	printf("%-36s %6.1f M events/s %7.2f ns/event\n", what, 1e3 / ns_per_event, ns_per_event);
}

static struct atf_index_writer *writer_open(const char *directory, uint32_t thread)
{
	struct atf_index_options options = { .thread_id = thread, .arch = ATF_ARCH_X86_64 };
	struct atf_index_writer *writer;
	char path[PATH_MAX];
	int error;

	mkdir(directory, 0700);
	atf_index_path(path, sizeof path, directory, 0);
	unlink(path);
	error = atf_index_writer_open(&writer, path, &options);
	if (error)
		die(path, error);
	return writer;
}

/* Writes `count` events whose times begin at `first_ns`: `burst` of them 10 ns apart, then a pause. */
static void write_events(struct atf_index_writer *writer, uint64_t count, uint64_t first_ns, uint64_t burst, uint64_t pause_ns)
{
	uint64_t done = 0, now_ns = first_ns;

	while (done < count) {
		struct ada_event *events;
		size_t room, i;
		int error = atf_index_writer_reserve(writer, count - done < 1022 ? count - done : 1022, &events, &room);

		for (i = 0; !error && i < room; i++, done++) {
			events[i] = (struct ada_event){ now_ns, done % 1000, 1, ADA_EVENT_CALL, 0, ADA_NO_DETAIL };
			now_ns += (done + 1) % burst ? 10 : 10 + pause_ns;
		}
		error = error ? error : atf_index_writer_commit(writer, room);
		if (error)
			die("write", error);
	}
}

static void bench_append_and_scan(const char *directory)
{
	struct atf_index_writer *writer = writer_open(directory, 1);
	uint64_t start_ns = ada_get_timestamp_ns(), i, sum = 0;
	struct atf_message message;
	struct atf_index *index;
	char path[PATH_MAX];
	int error;

	write_events(writer, EVENTS, 1, 1, 0);
	tell("append (reserve, commit, CRC, pwrite)", EVENTS, ada_get_timestamp_ns() - start_ns);
	start_ns = ada_get_timestamp_ns();
	error = atf_index_writer_close(writer, false);
	if (error)
		die("close", error);
	tell("  fsync at its end", EVENTS, ada_get_timestamp_ns() - start_ns);

	atf_index_path(path, sizeof path, directory, 0);
	start_ns = ada_get_timestamp_ns();
	if (atf_index_open(&index, path, &message))
		die(message.text, -ATF_ERROR_CORRUPT);
	for (i = 0; i < atf_index_count(index); i++)
		sum += atf_index_events(index)[i].call_depth;
	tell("open and scan", EVENTS + sum, ada_get_timestamp_ns() - start_ns);
	atf_index_close(index);
	unlink(path);
	rmdir(directory);
}

static void bench_merge(const char *directory, size_t count, uint64_t burst)
{
	struct atf_thread *threads[THREADS_MAX];
	const struct ada_event *event;
	struct atf_merge *merge;
	uint64_t start_ns, position, merged = 0;
	char path[PATH_MAX], what[64];
	size_t i;

	for (i = 0; i < count; i++) {
		struct atf_index_writer *writer;

		snprintf(path, sizeof path, "%s-%zu", directory, i);
		writer = writer_open(path, (uint32_t)i);
		write_events(writer, EVENTS / count, 10 + i * burst * 10, burst, (count - 1) * burst * 10);
		atf_index_writer_abandon(writer);
		if (atf_thread_open(&threads[i], path, NULL))
			die(path, -ATF_ERROR_CORRUPT);
	}
	start_ns = ada_get_timestamp_ns();
	if (atf_merge_open(&merge, threads, count, 0, UINT64_MAX))
		die("merge", -ATF_ERROR_MEMORY);
	while (atf_merge_next(merge, &i, &position, &event))
		merged++;
	snprintf(what, sizeof what, "merge %2zu threads, %s", count, burst == 1 ? "event by event" : "bursts of 1000");
	tell(what, merged, ada_get_timestamp_ns() - start_ns);
	atf_merge_close(merge);
	for (i = 0; i < count; i++) {
		char file[PATH_MAX + 16];

		atf_thread_close(threads[i]);
		snprintf(path, sizeof path, "%s-%zu", directory, i);
		atf_index_path(file, sizeof file, path, 0);
		unlink(file);
		rmdir(path);
	}
}

int main(int count, char **arguments)
{
	char directory[PATH_MAX / 2];
	size_t threads;

	snprintf(directory, sizeof directory, "%s/ada-atf-bench-%d", count > 1 ? arguments[1] : "/tmp", (int)getpid());
	bench_append_and_scan(directory);
	for (threads = 1; threads <= THREADS_MAX; threads *= 4) {
		bench_merge(directory, threads, 1);
		bench_merge(directory, threads, 1000);
	}
	return 0;
}
