#include "recorder/control/progress.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/units.h"
#include "recorder/bound/bound.h"
#include "recorder/detail/detail.h"
#include "recorder/host/disable.h"
#include "recorder/host/process.h"
#include "recorder/host/say.h"
#include "recorder/session/squeezing.h"
#include "recorder/state/provider.h"

#define INTERVAL_NS 200000000ull
#define PROBLEMS_SHOWN 5
#define WAITS_SHOWN 4

void ada_recording_open(struct ada_recording_progress *progress, bool quiet)
{
	*progress = (struct ada_recording_progress){ .shown = !quiet && isatty(STDERR_FILENO), .drawn_ns = ada_clock_boottime_ns() };
}

struct ada_totals ada_recording_totals(struct ada_recorder *recorder)
{
	struct ada_totals totals = { 0 };

	pthread_mutex_lock(&recorder->lock);
	for (size_t i = 0; i < recorder->providers.count; i++) {
		const struct ada_provider *provider = recorder->providers.items[i];

		totals.processes += !__atomic_load_n(&provider->continued, __ATOMIC_RELAXED);
		totals.live += !provider->ended;
		for (size_t k = 0; k < provider->drain.lanes.count; k++) {
			totals.events += provider->drain.lanes.items[k].events;
			totals.aged += provider->drain.lanes.items[k].aged;
			totals.lost += provider->drain.lanes.items[k].lost - provider->drain.lanes.items[k].overwritten;
			totals.overwritten += provider->drain.lanes.items[k].overwritten;
			totals.threads += provider->drain.lanes.items[k].segments.count != 0;
		}
	}
	pthread_mutex_unlock(&recorder->lock);
	return totals;
}

void ada_recording_draw(struct ada_recording_progress *progress, struct ada_recorder *recorder)
{
	char events[ADA_UNITS_TEXT], rate[ADA_UNITS_TEXT], lost[ADA_UNITS_TEXT];
	uint64_t now = ada_clock_boottime_ns();
	struct ada_totals totals;
	uint64_t per_second;

	if (!progress->shown || now - progress->drawn_ns < INTERVAL_NS || !ada_say_is_through())
		return;
	totals = ada_recording_totals(recorder);
	per_second = (uint64_t)((double)(totals.events - progress->events) * 1e9 / (double)(now - progress->drawn_ns));
	ada_say("\r\033[Kada: %s events, %s/s, %s lost, %zu process%s", ada_format_count(totals.events, events),
		ada_format_count(per_second, rate), ada_format_count(totals.lost, lost), totals.live, totals.live == 1 ? "" : "es");
	progress->drawn = true;
	progress->drawn_ns = now;
	progress->events = totals.events;
}

void ada_recording_clear(struct ada_recording_progress *progress)
{
	if (progress->drawn)
		ada_say("\r\033[K");
	progress->drawn = false;
}

static void __attribute__((format(printf, 3, 4))) text_add(char *text, size_t size, const char *format, ...)
{
	size_t length = strlen(text);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text + length, size - length, format, arguments);
	va_end(arguments);
}

static void add_process(pid_t pid, char *text, size_t size)
{
	char line[1024], name[16] = "";
	const char *stat = ada_process_stat(pid, line, sizeof line), *start = strchr(line, '(');

	if (!stat)
		return; /* it has ended */
	if (start)
		snprintf(name, sizeof name, "%.*s", (int)(stat - 2 - start - 1), start + 1);
	for (char *at = name; *at; at++)
		if ((unsigned char)*at < 0x20 || *at == 0x7f)
			*at = '?';
	text_add(text, size, "%s%s (%d%s)", *text ? ", " : "", name, pid, *stat == 'T' ? ", stopped" : "");
}

bool ada_recording_waits(struct ada_recording_progress *progress, struct ada_recorder *recorder, pid_t stray)
{
	struct ada_provider *provider;
	char text[256] = "";
	size_t shown = 0, more = 0;

	if (!progress->shown)
		return false;
	for (size_t i = 0; (provider = ada_provider_at(recorder, i)); i++)
		if (!provider->ended && ++shown <= WAITS_SHOWN)
			add_process(provider->pid, text, sizeof text);
		else
			more += !provider->ended;
	if (stray)
		add_process(stray, text, sizeof text);
	if (!*text)
		return false;
	if (more)
		text_add(text, sizeof text, " and %zu more", more);
	ada_recording_clear(progress);
	ada_say("ada: the program has ended, but not what it started: %s: `ada stop` or Ctrl-C twice ends the recording; with --no-wait it "
		"ends with the program\n",
		text);
	return true;
}

void ada_recording_goes_on(struct ada_recording_progress *progress)
{
	if (!progress->shown)
		return;
	ada_recording_clear(progress);
	ada_say("ada: the program has the interrupt and goes on: Ctrl-C once more ends the recording\n");
}

/* A line a problem, but no screenful of them. */
static bool is_shown(size_t *problems)
{
	return ++*problems <= PROBLEMS_SHOWN;
}

/* Why the process was not recorded to its end; NULL: it was. *as_asked: the user asked for that. */
static const char *reason_of(const struct ada_provider *provider, bool *as_asked)
{
	enum ada_disable disabled = provider->header.disabled;

	*as_asked = false;
	if (provider->drain.failed)
		return provider->drain.error.text;
	if (disabled != ADA_DISABLE_NONE && disabled != ADA_DISABLE_STOPPED) {
		*as_asked = disabled == ADA_DISABLE_ONESHOT_FULL;
		return ada_disable_text(disabled);
	}
	*as_asked = provider->stop_as_asked;
	return provider->stopped;
}

static void tell_problems(const struct ada_provider *provider, size_t *problems)
{
	bool as_asked;
	const char *reason = reason_of(provider, &as_asked);

	if (reason && is_shown(problems))
		ada_say("ada: process %d was not recorded to its end: %s\n", provider->pid, reason);
	if (provider->header.threads_refused && is_shown(problems))
		ada_say("ada: process %d: %u of its threads were not recorded, or not all of them: there was no room for so many\n",
			provider->pid, provider->header.threads_refused);
	if (provider->header.modules_refused && is_shown(problems))
		ada_say("ada: process %d: %u of its modules were not hooked: there was no room for so many\n", provider->pid,
			provider->header.modules_refused);
	if (provider->details && ada_details_failure(provider->details) && is_shown(problems))
		ada_say("ada: process %d: not all of its windows' detail was kept: %s\n", provider->pid,
			ada_details_failure(provider->details));
	for (size_t i = 0; i < provider->modules.count; i++)
		if (provider->modules.items[i].known && *provider->modules.items[i].problem.text && i < provider->module_count &&
		    provider->module_table[i].flags & ADA_MODULE_MAIN && is_shown(problems))
			ada_say("ada: process %d: its functions are not hooked: %s\n", provider->pid,
				provider->modules.items[i].problem.text);
}

/* Why agents dropped events, as far as they say it. */
struct reasons {
	uint64_t full, memory;
};

static struct reasons reasons_of(const struct ada_recorder *recorder)
{
	struct reasons reasons = { 0 };

	for (size_t i = 0; i < recorder->providers.count; i++)
		for (uint32_t k = 0; k < recorder->providers.items[i]->thread_count; k++) {
			reasons.full += recorder->providers.items[i]->thread_table[k].lost_full;
			reasons.memory += recorder->providers.items[i]->thread_table[k].lost_memory;
		}
	return reasons;
}

/* " (buffer full)"; nothing where it was for other reasons. */
static void add_reasons(const struct reasons *reasons, char *text, size_t size)
{
	if (reasons->full || reasons->memory)
		text_add(text, size, " (%s%s%s)", reasons->full ? "buffer full" : "", reasons->full && reasons->memory ? ", " : "",
			 reasons->memory ? "memory limit" : "");
}

/* What a next recording would be asked for, to lose nothing. */
static void tell_remedy(const struct ada_recorder *recorder, uint64_t lost)
{
	struct reasons reasons = reasons_of(recorder);

	if (!lost)
		return;
	if (reasons.full > reasons.memory)
		ada_say("ada: events came faster than their files took them: `ada tune` says which functions to leave out, --pack=always "
			"writes less, a larger --index-buffer holds more, with --on-full=block the program waits\n");
	else if (reasons.memory)
		ada_say("ada: the buffer was not allowed to grow, by a control group or since the machine was short of memory: --functions and "
			"--exclude record less, with --on-full=block the program waits\n");
}

/* Records of windows that could not be written. */
static uint64_t detail_lost(const struct ada_recorder *recorder)
{
	uint64_t lost = 0;

	for (size_t i = 0; i < recorder->providers.count; i++) {
		struct ada_detail_metrics metrics = { 0 };

		if (recorder->providers.items[i]->details)
			ada_details_metrics(recorder->providers.items[i]->details, &metrics);
		lost += metrics.unwritten_events;
	}
	return lost;
}

/* Events, detail, processes and images: what was lost without being asked for. */
static void add_lost(const struct ada_recorder *recorder, const struct ada_totals *totals, char *text, size_t size)
{
	size_t cut = 0, missing = recorder->unrecorded.count;
	uint64_t detail = detail_lost(recorder);

	for (size_t i = 0; i < recorder->providers.count; i++) {
		const struct ada_provider *provider = recorder->providers.items[i];
		bool as_asked;

		cut += (reason_of(provider, &as_asked) && !as_asked) || provider->header.threads_refused ||
		       provider->header.modules_refused;
	}
	if (totals->lost) {
		struct reasons reasons = reasons_of(recorder);

		text_add(text, size, ", %llu events LOST", (unsigned long long)totals->lost);
		add_reasons(&reasons, text, size);
	}
	if (detail)
		text_add(text, size, ", %llu detail record%s LOST (disk)", (unsigned long long)detail, detail == 1 ? "" : "s");
	if (missing)
		text_add(text, size, ", %zu program%s NOT RECORDED", missing, missing == 1 ? "" : "s");
	if (cut)
		text_add(text, size, ", %zu CUT SHORT", cut);
	if (!totals->lost && !detail && !missing && !cut)
		text_add(text, size, ", nothing lost");
	if (totals->overwritten)
		text_add(text, size, ", %llu older ones overwritten", (unsigned long long)totals->overwritten);
}

/* What --disk-limit, --max-age and --detail-limit came to. */
static void add_bound(const struct ada_recorder *recorder, const struct ada_totals *totals, char *text, size_t size)
{
	struct ada_bound_state state = ada_bound_state(recorder->bound);
	char bytes[ADA_UNITS_TEXT], limit[ADA_UNITS_TEXT];

	if (totals->aged)
		text_add(text, size, ", %llu older ones (%.3g %%) gone but for their sums", (unsigned long long)totals->aged,
			 100.0 * (double)totals->aged / (double)(totals->events ? totals->events : 1));
	if (state.disk_limit)
		text_add(text, size, ", %s of %s on the disk", ada_format_size(state.bytes, bytes),
			 ada_format_size(state.disk_limit, limit));
	if (state.max_age_ns)
		text_add(text, size, ", the last %s", ada_format_duration(state.max_age_ns, limit));
	if (state.detail_limit)
		text_add(text, size, ", %s of %s of detail", ada_format_size(state.detail, bytes),
			 ada_format_size(state.detail_limit, limit));
	if (state.kept)
		text_add(text, size, ", %s kept for windows", ada_format_size(state.kept, bytes));
}

/* Where there are any; how many there are. */
static size_t add_windows(const struct ada_recorder *recorder, char *text, size_t size)
{
	uint64_t marks = 0;
	size_t windows = 0;

	for (size_t i = 0; i < recorder->providers.count; i++) {
		struct ada_details *details = recorder->providers.items[i]->details;
		struct ada_detail_metrics metrics;

		if (!details)
			continue;
		ada_details_metrics(details, &metrics);
		marks += metrics.marked_events_detected;
		windows += ada_windows_count(ada_details_windows(details));
	}
	if (windows)
		text_add(text, size, ", %zu window%s of %llu mark%s", windows, windows == 1 ? "" : "s", (unsigned long long)marks,
			 marks == 1 ? "" : "s");
	return windows;
}

/* What says most about it, as it is to be typed where the user is. */
static void tell_next(const struct ada_recorder *recorder, bool has_windows)
{
	bool is_usual = !strcmp(recorder->options->output, ADA_TRACES);
	const char *space = is_usual ? "" : " ", *session = is_usual ? "" : recorder->session.directory;

	ada_say("ada: `ada %s%s%s` says %s, `ada view%s%s` shows it\n", has_windows ? "narrate" : "report", space, session,
		has_windows ? "what happened, and why" : "where the time went", space, session);
}

/* Where recording took a good part of the program's time: of the process that it took most of. */
static void tell_cost(const struct ada_recorder *recorder)
{
	const struct ada_provider *dearest = NULL;
	struct ada_cost cost = { 0 }, one;
	unsigned percent;
	size_t functions;

	for (size_t i = 0; i < recorder->providers.count; i++) {
		one = ada_provider_cost(recorder->providers.items[i]);
		if (one.cost_ns > cost.cost_ns) {
			cost = one;
			dearest = recorder->providers.items[i];
		}
	}
	percent = ada_cost_told(&cost);
	if (!percent)
		return;
	functions = ada_provider_functions_of_most(dearest);
	if (percent < 100)
		ada_say("ada: process %d: recording took %u %% of the CPU time", dearest->pid, percent);
	else
		ada_say("ada: process %d: recording took nearly all of the CPU time", dearest->pid);
	if (functions)
		ada_say("; %zu function%s made %u %% of the events", functions, functions == 1 ? "" : "s", ADA_LEDGER_MOST);
	if (recorder->options->budget > 0)
		ada_say("; --budget lets go of none that rules, windows or --keep name, nor of waits\n");
	else
		ada_say("; --budget=5%% would leave %s out, `ada tune` says which\n", functions == 1 ? "it" : functions ? "them" : "some");
}

void ada_recording_summary(struct ada_recorder *recorder)
{
	struct ada_totals totals = ada_recording_totals(recorder);
	size_t problems = 0;
	char lost[512] = "";
	size_t windows;

	add_lost(recorder, &totals, lost, sizeof lost);
	add_bound(recorder, &totals, lost, sizeof lost);
	windows = add_windows(recorder, lost, sizeof lost);
	ada_say("ada: %s: %llu events, %llu thread%s, %zu process%s%s\n", recorder->session.directory, (unsigned long long)totals.events,
		(unsigned long long)totals.threads, totals.threads == 1 ? "" : "s", totals.processes, totals.processes == 1 ? "" : "es",
		lost);
	tell_remedy(recorder, totals.lost);
	if (ada_squeezing_left(recorder))
		ada_say("ada: it was written in a hurry at the end: `ada pack %s` makes it smaller\n", recorder->session.directory);
	for (size_t i = 0; i < recorder->providers.count; i++)
		tell_problems(recorder->providers.items[i], &problems);
	for (size_t i = 0; i < recorder->unrecorded.count; i++)
		if (is_shown(&problems))
			ada_say("ada: process %d (%s) was not recorded: %s\n", recorder->unrecorded.items[i].pid,
				recorder->unrecorded.items[i].program, recorder->unrecorded.items[i].reason);
	if (problems > PROBLEMS_SHOWN)
		ada_say("ada: and %zu more like these: `ada info` lists them\n", problems - PROBLEMS_SHOWN);
	if (!recorder->providers.count)
		ada_say("ada: nothing was recorded\n");
	tell_cost(recorder);
	if (totals.events)
		tell_next(recorder, windows);
}
