/* The main loop of `ada trace` (recorder.c sets it up).
 *
 * It sleeps in poll: up to 1 ms while chunks come, longer and longer while none do. Signals come by signalfd: the
 * terminal's go to the program as well, SIGTERM and SIGHUP are passed on, a second SIGINT or `ada stop` ends the recording.
 */
#include "recorder/loop.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>
#include "recorder/control.h"
#include "recorder/detail.h"
#include "recorder/exit.h"
#include "recorder/fire.h"
#include "recorder/heir.h"
#include "recorder/manifest.h"
#include "recorder/provider.h"
#include "recorder/server.h"
#include "recorder/session.h"
#include "recorder/stray.h"

#define BUSY_MS 1
#define IDLE_MS 5
#define STRAY_NS 20000000ull
#define QUIET_NS 500000000ull		/* how long a quiet thread's events may wait */
#define LAST_WORDS_NS 2000000000ull
#define CALIBRATE_NS 100000000ull
#define MANIFEST_NS 2000000000ull	/* how often a changed manifest is written anew */
#define MANIFEST_COST 20		/* at once where a window closed, but at most a twentieth of the time goes into it */
#define SESSION_NS 200000000ull		/* how often session.json is: process trees change it all the time */
#define STOP_WAIT_MS 20			/* for the agent's threads to see `stop` */

/* --mark-signal */
static void mark(struct ada_loop *loop)
{
	struct ada_error error = { "" };
	size_t processes;
	if (ada_fire_manual(loop->recorder, NULL, &processes, &error)) {
		ada_recording_clear(&loop->progress);
		fprintf(stderr, "ada: no mark: %s\n", error.text);
	}
}

static void take_signals(struct ada_loop *loop)
{
	struct signalfd_siginfo info;
	while (read(loop->signals, &info, sizeof(info)) == sizeof(info)) {
		if ((int)info.ssi_signo == loop->recorder->options->mark_signal) {
			mark(loop);
			continue;
		}
		if (info.ssi_signo == SIGINT && ++loop->interrupts > 1)
			loop->stop = true;
		/* From the terminal, the program has it too; from elsewhere it was meant for the program. */
		bool terminal = info.ssi_code == SI_KERNEL;
		bool pass = info.ssi_signo == SIGTERM || info.ssi_signo == SIGHUP ||
			    ((info.ssi_signo == SIGINT || info.ssi_signo == SIGQUIT) && !terminal);
		if (pass && !loop->main_ended)
			kill(loop->recorder->main_pid, (int)info.ssi_signo);
	}
}

static void reap_main(struct ada_loop *loop)
{
	struct pollfd ended = { .fd = loop->recorder->main_pidfd, .events = POLLIN };
	int status;
	/* Before its end a wait would take the stops that late.c waits for. */
	if (loop->main_ended || poll(&ended, 1, 0) != 1 || waitpid(loop->recorder->main_pid, &status, WNOHANG) != loop->recorder->main_pid)
		return;
	loop->main_ended = true;
	loop->recorder->main_exit = ada_exit_of_status(status);
}

void ada_loop_tell(int rc, const struct ada_error *error)
{
	if (rc)
		fprintf(stderr, "ada: %s\n", error->text);
}

/* First manifest at once, later ones when something changed and now and then. */
static void keep_manifest(struct ada_loop *loop, struct ada_provider *provider, uint64_t now)
{
	struct ada_error error = { "" };
	pthread_mutex_lock(&provider->lock);
	uint64_t pause = provider->manifest_cost_ns * MANIFEST_COST;
	bool due = !provider->begun || (provider->changed && now - provider->manifest_ns > MANIFEST_NS) ||
		   (provider->windows_changed && now - provider->manifest_ns > pause);
	if (due)
		provider->changed = provider->windows_changed = false;
	pthread_mutex_unlock(&provider->lock);
	if (!due)
		return;
	if (!provider->begun)
		loop->sessions_changed = true;
	provider->begun = true;
	provider->manifest_ns = now;
	ada_loop_tell(ada_manifest_write(provider, &error), &error);
	provider->manifest_cost_ns = ada_clock_boottime_ns() - now;
}

static void finish(struct ada_loop *loop, struct ada_provider *provider, const char *stopped, bool as_asked)
{
	if (provider->pid == loop->recorder->main_pid && !provider->replaced && !stopped)
		reap_main(loop);
	ada_provider_finish(provider, stopped, as_asked);
	loop->sessions_changed = true;
	provider->begun = true;
}

/* The process lives, but nothing maps the segment any more: it has become a program that takes no agent in. Looked at twice
 * a second; the second time tells, because between exec and HELLO it is so for a moment. */
static void notice_escape(struct ada_provider *provider)
{
	provider->unused_turns = ada_segment_in_use(&provider->segment) ? 0 : provider->unused_turns + 1;
	if (provider->unused_turns < 2 || ada_provider_gone(provider))
		return;
	/* What it announced is heard of, or named at the end. */
	if (!ada_heirs_own(provider))
		ada_recorder_note_unrecorded(provider->recorder, provider->pid, NULL,
					     "it became a program that takes no agent in (static, setuid or of another C library)");
	pthread_mutex_lock(&provider->lock);
	provider->replaced = true;
	pthread_mutex_unlock(&provider->lock);
}

/* What is amiss with the detail of a process, while there is time to mend it: the first one speaks for all. */
static void advise(struct ada_loop *loop, struct ada_provider *provider)
{
	bool wanted = provider->details && !loop->advised;
	const char *advice = wanted ? ada_details_advice(provider->details) : NULL;
	if (!advice)
		return;
	loop->advised = true;
	ada_recording_clear(&loop->progress);
	fprintf(stderr, "ada: process %d: %s\n", provider->pid, advice);
}

/* Its last words: what a conversation still writes belongs into the last manifest. It ends when the process does; who holds
 * its socket open beyond that is not waited for long, but for the first one: whether anything was recorded, only that tells, and
 * on a busy machine late. Its silence has an end of its own (server.c). */
static bool still_talks(struct ada_provider *provider, uint64_t now)
{
	pthread_mutex_lock(&provider->lock);
	bool talks = provider->conversations > 0, starting = provider->starting;
	pthread_mutex_unlock(&provider->lock);
	if (!provider->gone_ns)
		provider->gone_ns = now;
	return talks && (starting || now - provider->gone_ns < LAST_WORDS_NS);
}

/* One pass over a provider; true where it had chunks. */
static bool attend(struct ada_loop *loop, struct ada_provider *provider, uint64_t now, bool quiet)
{
	if (provider->ended) {
		ada_provider_release(provider, false);
		return false;
	}
	bool gone = ada_provider_gone(provider);
	if (quiet && !gone)
		notice_escape(provider);
	pthread_mutex_lock(&provider->lock);
	if (quiet && provider->mapped)
		ada_heirs_collect(provider, false);
	gone |= provider->replaced;
	pthread_mutex_unlock(&provider->lock);
	keep_manifest(loop, provider, now);
	bool failed = provider->drain.failed;
	size_t chunks = ada_provider_drain(provider);
	if (quiet) {
		ada_provider_quiet(provider);
		advise(loop, provider);
	}
	if (provider->drain.failed && !failed) {
		ada_session_free_reserve(&loop->recorder->session);
		ada_recording_clear(&loop->progress);
		fprintf(stderr, "ada: recording ends, the program goes on: %s\n", provider->drain.error.text);
	}
	if (gone && !still_talks(provider, now)) {
		finish(loop, provider, NULL, false);
		ada_provider_release(provider, false);
	}
	return chunks;
}

static bool pass(struct ada_loop *loop)
{
	struct ada_recorder *recorder = loop->recorder;
	struct ada_error error = { "" };
	uint64_t now = ada_clock_boottime_ns();
	bool quiet = now - loop->quiet_ns > QUIET_NS, busy = false;
	if (now - loop->calibrate_ns > CALIBRATE_NS) {
		ada_clock_calibrate(recorder->clock);
		loop->calibrate_ns = now;
	}
	if (quiet)
		loop->quiet_ns = now;
	struct ada_provider *provider;
	for (size_t i = 0; (provider = ada_provider_at(recorder, i)); i++)
		busy |= attend(loop, provider, now, quiet);
	ada_sink_poll(recorder->sink);
	if (loop->sessions_changed && now - loop->session_ns > SESSION_NS) {
		loop->sessions_changed = false;
		loop->session_ns = now;
		ada_loop_tell(ada_session_write(recorder, false, &error), &error);
	}
	ada_sampler_turn(loop->sampler, now);
	if (ada_control_turn(recorder->control, now))
		loop->stop = loop->asked = true;
	ada_recording_draw(&loop->progress, recorder);
	return busy;
}

static bool all_ended(struct ada_recorder *recorder)
{
	struct ada_provider *provider;
	for (size_t i = 0; (provider = ada_provider_at(recorder, i)); i++)
		if (!provider->ended)
			return false;
	return true;
}

/* Nothing left that records or may yet begin to. */
static bool all_over(struct ada_loop *loop)
{
	struct ada_recorder *recorder = loop->recorder;
	struct ada_provider *provider;
	if (!loop->main_ended || !all_ended(recorder))
		return false;
	if (!recorder->options->follow)
		return true;
	for (size_t i = 0; (provider = ada_provider_at(recorder, i)); i++)
		if (!ada_provider_release(provider, false))
			return false;
	if (ada_server_busy(recorder->server))
		return false;
	uint64_t now = ada_clock_boottime_ns();
	if (loop->stray_ns && now - loop->stray_ns < STRAY_NS)
		return false;
	loop->stray_ns = now;
	/* Asked again: one that came and went meanwhile has a provider now. */
	return !ada_stray_find(recorder, ada_server_path(recorder->server)) && all_ended(recorder);
}

static int wait_for_news(struct ada_loop *loop)
{
	struct ada_recorder *recorder = loop->recorder;
	struct ada_provider *provider;
	loop->polls.count = 0;
	int rc = ada_array_push(&loop->polls, (struct pollfd){ .fd = loop->signals, .events = POLLIN }) ?:
		 ada_array_push(&loop->polls, (struct pollfd){ .fd = recorder->wake, .events = POLLIN });
	if (!rc && !loop->main_ended)
		rc = ada_array_push(&loop->polls, (struct pollfd){ .fd = recorder->main_pidfd, .events = POLLIN });
	for (size_t i = 0; !rc && (provider = ada_provider_at(recorder, i)); i++)
		if (!provider->ended && provider->pidfd >= 0)
			rc = ada_array_push(&loop->polls, (struct pollfd){ .fd = provider->pidfd, .events = POLLIN });
	if (rc)
		return rc;
	if (poll(loop->polls.items, loop->polls.count, loop->timeout_ms) > 0 && loop->polls.items[1].revents) {
		eventfd_t news;
		eventfd_read(recorder->wake, &news);
	}
	return 0;
}

void ada_loop_run(struct ada_loop *loop)
{
	do {
		wait_for_news(loop);	/* without memory for it: no sleep, but no harm */
		take_signals(loop);
		reap_main(loop);
		bool busy = pass(loop);
		loop->timeout_ms = busy ? BUSY_MS : loop->timeout_ms < IDLE_MS ? loop->timeout_ms + 1 : IDLE_MS;
	} while (!loop->stop && !all_over(loop));
}

/* The user wants no more, or all is over: every provider gets its last manifest, no new one comes. */
void ada_loop_end(struct ada_loop *loop)
{
	struct ada_recorder *recorder = loop->recorder;
	struct ada_error error = { "" };
	struct ada_provider *provider;
	bool any = false;
	pthread_mutex_lock(&recorder->starting);
	pthread_mutex_lock(&recorder->lock);
	recorder->closing = true;
	pthread_mutex_unlock(&recorder->lock);
	pthread_mutex_unlock(&recorder->starting);
	for (size_t i = 0; (provider = ada_provider_at(recorder, i)); i++)
		if (!provider->ended) {
			ada_segment_leave(&provider->segment);
			any = true;
		}
	if (any)
		poll(NULL, 0, STOP_WAIT_MS);
	for (size_t i = 0; (provider = ada_provider_at(recorder, i)); i++)
		if (!provider->ended)
			finish(loop, provider, "the recording was ended by the user", true);
	ada_recording_clear(&loop->progress);
	ada_heirs_name(recorder);
	recorder->session.end_ns = ada_clock_boottime_ns();
	ada_session_free_reserve(&recorder->session);
	ada_loop_tell(ada_session_write(recorder, true, &error), &error);
	if (!recorder->options->quiet)
		ada_recording_summary(recorder);
}
