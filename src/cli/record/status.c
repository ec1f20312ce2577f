/* ada status [SESSION]: how a session that is being recorded stands. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/units.h"
#include "cli/ground/answer.h"
#include "cli/ground/leftovers.h"
#include "cli/ground/live.h"
#include "cli/record/commands.h"
#include "query/session/json.h"

#define ANSWER_MS 10000
#define SECOND_MS 1000
#define PROVIDERS_SHOWN 8

static const char *count_of(const json_object *object, const char *key, char text[ADA_UNITS_TEXT])
{
	return ada_format_count(ada_json_u64(object, key, 0), text);
}

/* Paths and rules are others' words: prints them as a terminal may show them. */
static void print_text(const json_object *object, const char *key)
{
	char *text = ada_output_prepare(ADA_FORMAT_TEXT, ada_json_text(object, key, "?"));

	fputs(text ? text : "?", stdout);
	free(text);
}

/* Of the budgets of all processes. */
static uint64_t sum_of(const json_object *status, const char *key)
{
	const json_object *providers = ada_json_get(status, "providers");
	uint64_t sum = 0;

	for (size_t i = 0; i < ada_json_length(providers); i++)
		sum += ada_json_u64(ada_json_get(json_object_array_get_idx(providers, i), "budget"), key, 0);
	return sum;
}

/* The status in one line, which is also the first line of the long form. */
static void print_line(const json_object *status)
{
	char elapsed[ADA_UNITS_TEXT], events[ADA_UNITS_TEXT], rate[ADA_UNITS_TEXT], lost[ADA_UNITS_TEXT];
	uint64_t processes = ada_json_u64(status, "processes", 0), windows = ada_json_u64(status, "windows", 0);
	uint64_t marks = ada_json_u64(ada_json_get(status, "metrics"), "marked_events_detected", 0), muted = sum_of(status, "muted");
	uint64_t out = sum_of(status, "wentOut"), back = sum_of(status, "cameBack");

	printf("%s: %s events, %s/s, %s lost, %llu process%s, %llu window%s of %llu mark%s",
	       ada_format_duration(ada_json_u64(status, "nowNs", 0) - ada_json_u64(status, "startNs", 0), elapsed),
	       count_of(status, "events", events), count_of(status, "eventsPerSecond", rate), count_of(status, "lost", lost),
	       (unsigned long long)processes, processes == 1 ? "" : "es", (unsigned long long)windows, windows == 1 ? "" : "s",
	       (unsigned long long)marks, marks == 1 ? "" : "s");
	if (out || muted)
		printf(", %llu function%s muted (%llu went out, %llu came back)", (unsigned long long)muted, muted == 1 ? "" : "s",
		       (unsigned long long)out, (unsigned long long)back);
	putchar('\n');
}

static uint64_t ns_ago(const json_object *status, uint64_t ns)
{
	uint64_t now = ada_json_u64(status, "nowNs", 0);

	return now > ns ? now - ns : 0;
}

static void print_budget(const json_object *budget)
{
	uint64_t muted = ada_json_u64(budget, "muted", 0), stops = ada_json_u64(budget, "stops", 0);
	char stopped[ADA_UNITS_TEXT];

	printf("  budget: recording costs %.3g %% of the program's own time, and may cost %.3g %%; %llu function%s muted",
	       100 * json_object_get_double(ada_json_get(budget, "cost")), 100 * json_object_get_double(ada_json_get(budget, "share")),
	       (unsigned long long)muted, muted == 1 ? " is" : "s are");
	if (stops)
		printf("; it stood still %s in %llu stop%s", ada_format_duration(ada_json_u64(budget, "stoppedNs", 0), stopped),
		       (unsigned long long)stops, stops == 1 ? "" : "s");
	putchar('\n');
}

/* Prints one process: the six metrics of the specification, and how the recording goes. */
static void print_detail(const json_object *status, const json_object *provider)
{
	const json_object *metrics = ada_json_get(provider, "metrics");
	char a[ADA_UNITS_TEXT], b[ADA_UNITS_TEXT], c[ADA_UNITS_TEXT], d[ADA_UNITS_TEXT];
	uint64_t last = ada_json_u64(metrics, "last_mark_ns", 0), window = ada_json_u64(metrics, "window_start_ns", 0);

	if (ada_json_get(provider, "budget"))
		print_budget(ada_json_get(provider, "budget"));
	if (!metrics)
		return;
	printf("  detail: %s events captured, %s kept, %s dropped; the buffer reaches back %s, %.0f %% of it is held\n",
	       count_of(metrics, "events_processed", a), count_of(metrics, "persisted_events", b), count_of(metrics, "dropped_events", c),
	       ada_format_duration((uint64_t)json_object_get_double(ada_json_get(metrics, "oldest_history_ns")), d),
	       100 * json_object_get_double(ada_json_get(metrics, "pool_use")));
	printf("  windows: %llu, on average %s and %s events; %s dumps, %s chunks discarded\n",
	       (unsigned long long)ada_json_u64(provider, "windows", 0),
	       ada_format_duration(ada_json_u64(metrics, "avg_window_duration_ns", 0), a), count_of(metrics, "avg_events_per_window", b),
	       count_of(metrics, "selective_dumps_performed", c), count_of(metrics, "windows_discarded", d));
	printf("  marks: %s", count_of(metrics, "marked_events_detected", a));
	if (last)
		printf(", the last %s ago by ", ada_format_duration(ns_ago(status, last), b));
	if (last)
		print_text(metrics, "last_mark_rules");
	if (window)
		printf("; a window is open since %s, %s events so far", ada_format_duration(ns_ago(status, window), b),
		       count_of(metrics, "window_events", c));
	putchar('\n');
}

static void print_providers(const json_object *status)
{
	const json_object *providers = ada_json_get(status, "providers");
	char events[ADA_UNITS_TEXT], lost[ADA_UNITS_TEXT];
	size_t shown = 0;

	for (size_t i = 0; i < ada_json_length(providers); i++) {
		const json_object *provider = json_object_array_get_idx(providers, i);

		if (!ada_json_bool(provider, "recording", false) || shown++ >= PROVIDERS_SHOWN)
			continue;
		printf("\n%s ", ada_json_text(provider, "directory", "?"));
		print_text(provider, "program");
		printf(": %s events, %s lost\n", count_of(provider, "events", events), count_of(provider, "lost", lost));
		print_detail(status, provider);
	}
	if (shown > PROVIDERS_SHOWN)
		printf("\nand %zu more processes: --json has them all\n", shown - PROVIDERS_SHOWN);
}

static void print_policy(const json_object *policy)
{
	const json_object *rules = ada_json_get(policy, "rules"), *compile = ada_json_get(policy, "compile");
	char matches[ADA_UNITS_TEXT], marks[ADA_UNITS_TEXT], cost[ADA_UNITS_TEXT];

	printf("\npolicy v%llu-%s, compiled in %s:\n", (unsigned long long)ada_json_u64(policy, "version", 0),
	       ada_json_text(policy, "hash", "?"), ada_format_duration(ada_json_u64(compile, "lastNs", 0), cost));
	printf("%4s %9s %9s  %s\n", "ID", "MATCHES", "MARKS", "RULE");
	for (size_t i = 0; i < ada_json_length(rules); i++) {
		const json_object *rule = json_object_array_get_idx(rules, i);

		printf("%4llu %9s %9s  ", (unsigned long long)ada_json_u64(rule, "id", 0), count_of(rule, "matches", matches),
		       count_of(rule, "marks", marks));
		print_text(rule, "rule");
		putchar('\n');
	}
}

/* Of --disk-limit, --max-age and --detail-limit; NULL: there is none of them. */
static void print_bound(const json_object *bound, uint64_t events)
{
	uint64_t limit = ada_json_u64(bound, "diskLimit", 0), age_ns = ada_json_u64(bound, "maxAgeNs", 0);
	uint64_t detail_limit = ada_json_u64(bound, "detailLimit", 0), kept = ada_json_u64(bound, "kept", 0);
	uint64_t asked = ada_json_u64(bound, "diskLimitAsked", limit);
	char text[ADA_UNITS_TEXT], aged[ADA_UNITS_TEXT];

	if (!bound)
		return;
	printf("on the disk: %s", ada_format_size(ada_json_u64(bound, "bytes", 0), text));
	if (limit)
		printf(" of %s", ada_format_size(limit, text));
	if (limit > asked)
		printf(", for %s was too little", ada_format_size(asked, text));
	if (age_ns)
		printf(", for %s", ada_format_duration(age_ns, text));
	printf("; %llu segments of %s events (%.3g %%) have gone but for their sums\n",
	       (unsigned long long)ada_json_u64(bound, "segments", 0), count_of(bound, "aged", aged),
	       100.0 * (double)ada_json_u64(bound, "aged", 0) / (double)(events ? events : 1));
	if (detail_limit)
		printf("detail: %s of %s\n", ada_format_size(ada_json_u64(bound, "detail", 0), text), ada_format_size(detail_limit, aged));
	if (kept)
		printf("kept for windows: %s\n", ada_format_size(kept, text));
}

static void print_whole(const json_object *status)
{
	print_text(status, "session");
	fputs(": ", stdout);
	print_text(status, "program");
	putchar('\n');
	print_line(status);
	print_bound(ada_json_get(status, "bound"), ada_json_u64(status, "events", 0));
	print_providers(status);
	print_policy(ada_json_get(status, "policy"));
}

static void print(const struct ada_options *options, json_object *status)
{
	bool redraw = options->watch && !options->json && isatty(STDOUT_FILENO);

	if (options->json) {
		json_object_object_del(status, "ok");
		puts(json_object_to_json_string_ext(status, (options->watch ? JSON_C_TO_STRING_PLAIN : JSON_C_TO_STRING_PRETTY) |
								    JSON_C_TO_STRING_NOSLASHESCAPE));
	} else if (options->watch && !redraw) {
		print_line(status);
	} else {
		fputs(redraw ? "\033[H\033[J" : "", stdout);
		print_whole(status);
	}
	fflush(stdout);
}

static const struct ada_usage usage = {
	"[SESSION]",
	"Prints how a session that is being recorded stands: events, losses, windows, and what the rules of its policy "
	"have matched.",
};

int ada_cmd_status(int argc, char **argv)
{
	struct ada_options options = {};
	struct ada_live live;
	struct ada_error error = { "" };
	json_object *answer;
	int status;

	ada_options_take(&options, &usage, argc, argv);
	ada_leftovers_notice(options.session ? options.session : ADA_LATEST);
	status = ada_live_find(&live, options.session, &error);
	for (bool first = true; !status; first = false) {
		status = ada_live_ask(&live, ada_live_request("status"), ANSWER_MS, &answer, &error);
		if (status == -ESRCH && !first)
			return 0;
		if (status)
			break;
		print(&options, answer);
		json_object_put(answer);
		if (!options.watch || ferror(stdout))
			return 0;
		poll(NULL, 0, SECOND_MS);
	}
	return ada_answer_fail(argv[0], &error);
}
