/* How fast questions are answered, as ratios in one run, and in how much memory.
 *
 *   query_bench [-n EVENTS] [-r RUNS] [-d DIRECTORY] [-a ADA]     (ADA: the program, or in the environment)
 *
 * EVENTS: 100M by default, 32 bytes each in DIRECTORY (/tmp): a regular mix of calls once over eight threads and once in a single
 * one, a quarter as many in an irregular mix (query_session.h), and lua as it was recorded here. What aggregation costs depends on
 * how well a CPU guesses whether a call or a return comes next: so look at all three. Then a session of very many threads.
 *
 * The bare scan adds up one field of all events through the same mapping, shared out over as many threads in pieces of the same
 * size, and releases its pages likewise: what nobody can do without. All figures are medians of runs that take turns; the ratio is
 * given by CPU time, too, which says more while others use the machine. Memory is the peak of a process of its own (ru_maxrss,
 * which counts mapped pages too).
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <unistd.h>
#include "atf.h"
#include "base/units.h"
#include "query/tally/stats.h"
#include "query_session.h"

#define RUNS_MAX 15
#define PIECE_EVENTS (1u << 20)
#define BLOCK_EVENTS (1u << 16)
#define MANY_FILES 10000

static void die(const char *what, const char *why)
{
	fprintf(stderr, "query_bench: %s: %s\n", what, why);
	exit(1);
}

/* --- the bare scan ------------------------------------------------------------------------------------------------------ */

struct scan {
	const struct ada_session *session;
	atomic_size_t next;
	atomic_uint_fast64_t sum;
};

static uint64_t scan_piece(const struct ada_thread *thread, uint64_t from, uint64_t to)
{
	uint64_t sum = 0;

	while (from < to) {
		uint64_t count;
		const struct ada_event *events = atf_thread_run(thread->events, from, &count);

		count = count < to - from ? count : to - from;
		count = count < BLOCK_EVENTS ? count : BLOCK_EVENTS;
		for (uint64_t i = 0; i < count; i++)
			sum += events[i].call_depth;
		atf_thread_release(thread->events, from, from + count);
		from += count;
	}
	return sum;
}

static void *scan_pieces(void *context)
{
	struct scan *scan = context;
	uint64_t sum = 0;

	for (;;) {
		size_t number = atomic_fetch_add(&scan->next, 1), thread = 0;

		for (; thread < scan->session->threads.count; thread++) {
			uint64_t count = scan->session->threads.items[thread].count;
			size_t pieces = (count + PIECE_EVENTS - 1) / PIECE_EVENTS;

			if (number < pieces) {
				uint64_t from = number * (uint64_t)PIECE_EVENTS;

				sum += scan_piece(&scan->session->threads.items[thread], from,
						  count - from < PIECE_EVENTS ? count : from + PIECE_EVENTS);
				break;
			}
			number -= pieces;
		}
		if (thread == scan->session->threads.count)
			break;
	}
	atomic_fetch_add(&scan->sum, sum);
	return NULL;
}

static uint64_t bare_scan(const struct ada_session *session, unsigned int workers)
{
	struct scan scan = { .session = session };
	pthread_t threads[64];

	for (unsigned int i = 1; i < workers; i++)
		if (pthread_create(&threads[i], NULL, scan_pieces, &scan))
			die("bare scan", "cannot start a thread");
	scan_pieces(&scan);
	for (unsigned int i = 1; i < workers; i++)
		pthread_join(threads[i], NULL);
	return scan.sum;
}

/* --- measuring ---------------------------------------------------------------------------------------------------------- */

struct bench {
	char session[PATH_MAX];
	uint64_t events;
	unsigned int runs;
	const char *directory, *ada;
};

static double seconds_since(uint64_t start_ns)
{
	return (ada_get_timestamp_ns() - start_ns) / 1e9;
}

static double cpu_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

static int compare(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return a < b ? -1 : a > b;
}

static double median(double *values, unsigned int count)
{
	qsort(values, count, sizeof *values, compare);
	return values[count / 2];
}

static struct ada_session *open_session(const char *path)
{
	struct ada_error error = {};
	struct ada_session *session;

	if (ada_session_open(&session, path, &error))
		die(path, error.text);
	return session;
}

/* The share [from, from + part) of the time; part 1: all of it. Returns the seconds it took. */
static double aggregate(const struct ada_session *session, unsigned int workers, double from, double part, uint64_t *events)
{
	uint64_t start_ns = ada_get_timestamp_ns(), last_ns = 0;
	struct ada_selection selection;
	struct ada_error error = {};
	struct ada_stats stats;
	double seconds;

	if (ada_selection_open(&selection, session, NULL, NULL, NULL, &error))
		die(session->path, error.text);
	for (size_t i = 0; i < session->threads.count; i++) {
		const struct ada_thread *thread = &session->threads.items[i];
		uint64_t ns = atf_thread_get(thread->events, thread->count - 1)->timestamp_ns;

		last_ns = ns > last_ns ? ns : last_ns;
	}
	if (part < 1) {
		selection.from_ns = session->start_ns + (uint64_t)((last_ns - session->start_ns) * from);
		selection.to_ns = selection.from_ns + (uint64_t)((last_ns - session->start_ns) * part);
	}
	if (ada_stats_compute(&stats, &selection, workers, &error))
		die(session->path, error.text);
	seconds = seconds_since(start_ns);
	*events = stats.completeness.events;
	ada_stats_free(&stats);
	ada_selection_close(&selection);
	return seconds;
}

/* Run by a process of its own, or its peak would be that of all before. Returns KiB. */
static long peak_of(const char *const *command)
{
	struct rusage usage;
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		die(command[0], strerror(errno));
	if (!pid) {
		if (!freopen("/dev/null", "w", stdout))
			_exit(127);
		execv(command[0], (char *const *)command);
		_exit(127);
	}
	if (wait4(pid, &status, 0, &usage) < 0 || status)
		return -1;
	return usage.ru_maxrss;
}

/* Seconds; < 0: it failed. */
static double time_of(const char *const *command, long *peak)
{
	uint64_t start_ns = ada_get_timestamp_ns();

	*peak = peak_of(command);
	return *peak < 0 ? -1 : seconds_since(start_ns);
}

static void bench_aggregation(const struct bench *bench, unsigned int workers)
{
	double scans[RUNS_MAX], wholes[RUNS_MAX], parts[RUNS_MAX], opens[RUNS_MAX], scan, whole, part;
	double scan_cpus[RUNS_MAX], whole_cpus[RUNS_MAX];
	uint64_t events = 0, in_part = 0;

	for (unsigned int i = 0; i < bench->runs; i++) {
		uint64_t start_ns = ada_get_timestamp_ns();
		struct ada_session *session = open_session(bench->session);

		opens[i] = seconds_since(start_ns);
		start_ns = ada_get_timestamp_ns();
		scan_cpus[i] = -cpu_seconds();
		if (!bare_scan(session, workers))
			die(bench->session, "no events");
		scans[i] = seconds_since(start_ns);
		scan_cpus[i] += cpu_seconds();
		whole_cpus[i] = -cpu_seconds();
		wholes[i] = aggregate(session, workers, 0, 1, &events);
		whole_cpus[i] += cpu_seconds();
		parts[i] = aggregate(session, workers, 0.5, 0.01, &in_part);
		ada_session_close(session);
	}
	scan = median(scans, bench->runs);
	whole = median(wholes, bench->runs);
	part = median(parts, bench->runs);
	printf("  open                        %8.2f ms\n", median(opens, bench->runs) * 1e3);
	printf("  bare scan,   %2u workers     %8.2f ms %7.2f ns/event\n", workers, scan * 1e3, scan * 1e9 / events);
	printf("  aggregation, %2u workers     %8.2f ms %7.2f ns/event   %.2f times the bare scan (%.2f of CPU time)\n", workers,
	       whole * 1e3, whole * 1e9 / events, whole / scan, median(whole_cpus, bench->runs) / median(scan_cpus, bench->runs));
	printf("  1 %% of the time             %8.2f ms   %.2f %% of the whole's time, for %.2f %% of its events\n", part * 1e3,
	       100 * part / whole, 100.0 * in_part / events);
}

static void bench_commands(const struct bench *bench)
{
	const char *report[] = { bench->ada, "report", "--format=csv", bench->session, NULL };
	const char *query[] = { bench->ada, "query", "--format=csv", bench->session, "SELECT * FROM fn_stats", NULL };
	double reports[RUNS_MAX], queries[RUNS_MAX];
	long report_peak = 0, query_peak = 0;

	for (unsigned int i = 0; i < bench->runs; i++) {
		reports[i] = time_of(report, &report_peak);
		queries[i] = query_peak < 0 ? -1 : time_of(query, &query_peak);
		if (reports[i] < 0)
			die(bench->ada, "report failed");
	}
	printf("  ada report                  %8.2f ms   peak memory %.1f MB\n", median(reports, bench->runs) * 1e3, report_peak / 1024.0);
	if (query_peak > 0)
		printf("  ada query fn_stats          %8.2f ms   peak memory %.1f MB   %.2f times the report\n",
		       median(queries, bench->runs) * 1e3, query_peak / 1024.0,
		       median(queries, bench->runs) / median(reports, bench->runs));
}

static double load(void)
{
	double load[1];

	return getloadavg(load, 1) == 1 ? load[0] : -1;
}

static uint64_t count_events(const char *path)
{
	struct ada_session *session = open_session(path);
	uint64_t events = 0;

	for (size_t i = 0; i < session->threads.count; i++)
		events += session->threads.items[i].count;
	ada_session_close(session);
	return events;
}

static void bench_made(struct bench *bench)
{
	int cpus = get_nprocs();

	bench_aggregation(bench, 1);
	if (cpus > 1)
		bench_aggregation(bench, cpus < 64 ? (unsigned int)cpus : 64);
	if (bench->ada)
		bench_commands(bench);
}

static void bench_session(struct bench *bench, uint64_t events, uint32_t threads, const struct bench_mix *mix)
{
	uint64_t start_ns = ada_get_timestamp_ns();

	snprintf(bench->session, sizeof bench->session, "%s/ada-query-bench-%d", bench->directory, (int)getpid());
	bench_make(bench->session, events, threads, mix);
	printf("%s session of %.1f M events in %u thread%s (made in %.1f s), load %.1f\n", mix->name, events / 1e6, threads,
	       threads == 1 ? "" : "s", seconds_since(start_ns), load());
	bench_made(bench);
	bench_remove(bench->session);
}

static void bench_recording(struct bench *bench)
{
	char directory[PATH_MAX - 64];

	if (!bench->ada)
		return;
	snprintf(directory, sizeof directory, "%s/ada-query-bench-%d", bench->directory, (int)getpid());
	if (bench_record(bench->session, sizeof bench->session, directory, bench->ada)) {
		printf("recording of lua, %.1f M events, load %.1f\n", count_events(bench->session) / 1e6, load());
		bench_made(bench);
	} else {
		printf("no recording of lua: not measured\n");
	}
	bench_remove(directory);
}

/* Also what a command costs that reads next to nothing else. */
static void bench_many(struct bench *bench, uint32_t threads, bool finished)
{
	const char *info[] = { bench->ada, "info", bench->session, NULL };
	const char *report[] = { bench->ada, "report", "--format=csv", bench->session, NULL };
	double opens[RUNS_MAX], cpus[RUNS_MAX], infos[RUNS_MAX], reports[RUNS_MAX];
	unsigned int runs = bench->runs;
	long peak;

	snprintf(bench->session, sizeof bench->session, "%s/ada-query-bench-%d", bench->directory, (int)getpid());
	bench_make_many(bench->session, threads, finished);
	for (unsigned int i = 0; i < runs; i++) {
		double cpu = cpu_seconds();
		uint64_t start_ns = ada_get_timestamp_ns();
		struct ada_session *session = open_session(bench->session);

		opens[i] = seconds_since(start_ns);
		cpus[i] = cpu_seconds() - cpu;
		ada_session_close(session);
		infos[i] = bench->ada ? time_of(info, &peak) : 0;
		reports[i] = bench->ada ? time_of(report, &peak) : 0;
	}
	printf("session of %u threads with detail, %s, load %.1f\n", threads, finished ? "finalized" : "as a crash leaves it", load());
	printf("  open                        %8.2f ms   %.2f ms of CPU time\n", median(opens, runs) * 1e3, median(cpus, runs) * 1e3);
	if (bench->ada)
		printf("  ada info, ada report        %8.2f ms, %.2f ms\n", median(infos, runs) * 1e3, median(reports, runs) * 1e3);
	bench_remove(bench->session);
}

static void bench_sizes(struct bench *bench)
{
	struct rlimit files;
	uint32_t most = 1024;

	/* Each thread has two files, all open while they are made. */
	if (!getrlimit(RLIMIT_NOFILE, &files) && files.rlim_max >= MANY_FILES) {
		files.rlim_cur = MANY_FILES;
		most = setrlimit(RLIMIT_NOFILE, &files) ? 1024 : 4096;
	}
	for (uint32_t threads = 1024; threads <= most; threads *= 4) {
		bench_many(bench, threads, true);
		bench_many(bench, threads, false);
	}
}

int main(int argc, char **argv)
{
	struct bench bench = { .events = 100000000, .runs = 5, .directory = "/tmp", .ada = getenv("ADA") };
	struct ada_error error = {};
	int option;

	while ((option = getopt(argc, argv, "n:r:d:a:")) != -1) {
		if (option == 'n' && ada_parse_count(optarg, 1000, 1ull << 32, &bench.events, &error))
			die("-n", error.text);
		else if (option == 'r')
			bench.runs = (unsigned int)atoi(optarg);
		else if (option == 'd')
			bench.directory = optarg;
		else if (option == 'a')
			bench.ada = optarg;
		else if (option == '?')
			return 2;
	}
	if (bench.runs < 1 || bench.runs > RUNS_MAX)
		die("-r", "1 to 15 runs");
	bench_session(&bench, bench.events, 8, &bench_regular);
	bench_session(&bench, bench.events, 1, &bench_regular);
	bench_session(&bench, bench.events / 4, 8, &bench_irregular);
	bench_recording(&bench);
	bench_sizes(&bench);
	return 0;
}
