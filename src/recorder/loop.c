/* The main loop of `ada trace` (recorder.c sets it up).
 *
 * It sleeps in poll: up to 1 ms while chunks come, longer and longer while few do; in the background where others want its CPU
 * (host/background.h), as long as the grower sees to it that it isn't late. Signals come by signalfd: the
 * terminal's go to the program as well, SIGTERM and SIGHUP are passed on, a second SIGINT or `ada stop` ends the recording.
 */
#include "recorder/loop.h"
#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>
#include "recorder/budget/budget.h"
#include "recorder/control/control.h"
#include "recorder/descriptors/noter.h"
#include "recorder/detail/detail.h"
#include "recorder/files/place.h"
#include "recorder/host/process.h"
#include "recorder/host/say.h"
#include "recorder/index/packed_lane.h"
#include "recorder/planning/unmet.h"
#include "recorder/policy/fire.h"
#include "recorder/process/ends.h"
#include "recorder/process/exit.h"
#include "recorder/process/heir.h"
#include "recorder/process/life.h"
#include "recorder/process/names.h"
#include "recorder/process/server.h"
#include "recorder/process/stock.h"
#include "recorder/process/stray.h"
#include "recorder/session/aging.h"
#include "recorder/session/squeezing.h"
#include "recorder/session/disk.h"
#include "recorder/session/manifest.h"
#include "recorder/state/provider.h"

#define BUSY_MS 1
#define IDLE_MS 5
#define IDLE_FULL_MS 40	    /* where the machine is full (own.h): each turn delays whoever has the CPU */
#define ENDS_NS 50000000ull /* so long behind a process's end its last manifest is waited for without sleeping longer */
#define FEW_CHUNKS 8	    /* that came within a turn: the next may wait longer. Or so large a part of all that there are: */
#define FEW_PART 8
#define STRAY_NS 20000000ull
#define QUIET_NS 500000000ull /* how long a quiet thread's events may wait */
#define LAST_WORDS_NS 2000000000ull
#define CALIBRATE_NS 100000000ull
/* Where only mutes have changed, which they may do all the time: a four hundredth of a processor's time goes into it, or, where that would be
 * more seldom than MANIFEST_NS, up to a hundredth. */
#define MUTES_PAUSES 20u
#define MUTES_PAUSES_LEAST 5u
#define MANIFEST_NS 2000000000ull     /* how often a changed manifest is written anew */
#define MANIFEST_THREAD_NS 2000000ull /* where only threads have come, so much less often for each that is in it: it takes some 10 us */
#define MANY_THREADS 128	      /* in a manifest: it takes half a megabyte to put together */
#define SESSION_NS 200000000ull	      /* how often session.json is: process trees change it all the time */
#define SESSION_COST 20		      /* at most a twentieth of the time goes into it */
#define DRAIN_NS 5000000ull	      /* so long the others may wait while one is prepared or finished */
#define ROUNDS_NS 50000000ull	      /* so long they are gone round where some have more, until other things are seen to */
#define WAITS_NS 1000000000ull	      /* behind the program's end, or an interrupt, until it is said who goes on */
#define SETTLES 2000		      /* of 1 ms, at most: conversations are about to be done with their providers */
#define STOP_WAIT_MS 20		      /* for the agent's threads to see `stop` */

/* --mark-signal */
static void mark(struct ada_loop *loop)
{
	struct ada_error error = { "" };
	size_t processes;

	if (ada_fire_manual(loop->recorder, NULL, &processes, &error)) {
		ada_recording_clear(&loop->progress);
		ada_say("ada: no mark: %s\n", error.text);
	}
}

static void take_signals(struct ada_loop *loop)
{
	struct signalfd_siginfo info;

	while (read(loop->signals, &info, sizeof info) == sizeof info) {
		bool terminal, pass;

		if ((int)info.ssi_signo == loop->recorder->options->mark_signal) {
			mark(loop);
			continue;
		}
		if (info.ssi_signo == SIGINT && ++loop->interrupts > 1)
			loop->stop = true;
		else if (info.ssi_signo == SIGINT)
			loop->interrupted_ns = ada_clock_boottime_ns();
		/* From the terminal, the program has it too; from elsewhere it was meant for the program. */
		terminal = info.ssi_code == SI_KERNEL;
		pass = info.ssi_signo == SIGTERM || info.ssi_signo == SIGHUP ||
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
	loop->main_ended_ns = ada_clock_boottime_ns();
	loop->recorder->main_exit = ada_exit_of_status(status);
}

void ada_loop_tell(int status, const struct ada_error *error)
{
	if (status)
		ada_say("ada: %s\n", error->text);
}

static uint64_t mutes_pause_ns(uint64_t pause_ns)
{
	uint64_t least_ns = pause_ns * MUTES_PAUSES_LEAST > MANIFEST_NS ? pause_ns * MUTES_PAUSES_LEAST : MANIFEST_NS;

	return pause_ns * MUTES_PAUSES < least_ns ? pause_ns * MUTES_PAUSES : least_ns;
}

/* First manifest at once, later ones when something changed and now and then; soon where a window closed. */
static void keep_manifest(struct ada_loop *loop, struct ada_provider *provider, uint64_t now)
{
	bool changed = __atomic_load_n(&provider->changed, __ATOMIC_ACQUIRE) || ada_paper_failed(&provider->manifest);
	/* Who asks while it is recorded finds there whom a join waits for; of a disk that is full nobody takes room for that. */
	bool came = provider->drain.lanes.count > provider->thread_count && !provider->drain.failed && !provider->drain.stopped_ns &&
		    !provider->drain.holding && now - provider->manifest_ns > MANIFEST_NS + provider->thread_count * MANIFEST_THREAD_NS;
	uint64_t pause_ns = ada_paper_pause_ns(&provider->manifest);
	bool due = !provider->begun || came || (changed && now - provider->manifest_ns > MANIFEST_NS) ||
		   (provider->windows_changed && now - provider->manifest_ns > pause_ns) ||
		   (provider->mutes_changed && now - provider->manifest_ns > mutes_pause_ns(pause_ns));

	if (!due || ada_paper_pending(&provider->manifest))
		return;
	__atomic_store_n(&provider->changed, !provider->begun, __ATOMIC_RELEASE); /* the first isn't synced: another follows */
	provider->windows_changed = provider->mutes_changed = false;
	if (!provider->begun)
		loop->sessions_changed = true;
	provider->begun = true;
	provider->manifest_ns = now;
	ada_manifest_write(provider);
}

static void provider_finish(struct ada_loop *loop, struct ada_provider *provider)
{
	if (provider->pid == loop->recorder->main_pid && !__atomic_load_n(&provider->replaced, __ATOMIC_ACQUIRE))
		reap_main(loop);
	ada_provider_finish(provider, NULL, false);
	loop->sessions_changed = true;
}

/* The process lives, but nothing maps the segment any more: it has become a program that takes no agent in. Looked at twice
 * a second; the second time tells, because between exec and HELLO it is so for a moment. */
static void notice_escape(struct ada_provider *provider)
{
	bool own;

	provider->unused_turns = ada_segment_in_use(&provider->segment) ? 0 : provider->unused_turns + 1;
	if (provider->unused_turns < 2 || ada_provider_gone(provider) || ada_process_is_ending(provider->pid))
		return;
	if (pthread_mutex_trylock(&provider->lock))
		return; /* half a second later */
	own = ada_heirs_own(provider);
	pthread_mutex_unlock(&provider->lock);
	/* What it announced is heard of, or named at the end. */
	if (!own)
		ada_recorder_note_unrecorded(provider->recorder, provider->pid, NULL,
					     "it became a program that takes no agent in (static, setuid or of another C library)");
	ada_provider_note_replaced(provider);
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
	ada_say("ada: process %d: %s\n", provider->pid, advice);
}

/* Its last words: what a conversation still writes belongs into the last manifest. It ends when the process does; who holds
 * its socket open beyond that is not waited for long, but for the first one: whether anything was recorded, only that tells, and
 * on a busy machine late. Its silence has an end of its own (server.c). */
static bool still_talks(struct ada_provider *provider, uint64_t now)
{
	bool talks = __atomic_load_n(&provider->conversations, __ATOMIC_ACQUIRE) > 0;
	bool starting = __atomic_load_n(&provider->starting, __ATOMIC_ACQUIRE);

	return talks && (starting || now < __atomic_load_n(&provider->gone_ns, __ATOMIC_ACQUIRE) + LAST_WORDS_NS);
}

/* Its first manifest is on the disk: events may follow. */
static bool ready(const struct ada_provider *provider)
{
	return provider->begun && ada_paper_written(&provider->manifest);
}

/* How many chunks it had. */
static size_t drain(struct ada_loop *loop, struct ada_provider *provider)
{
	bool ended = provider->drain.failed || provider->drain.stopped_ns;
	size_t chunks = ada_provider_drain(provider);

	if ((provider->drain.failed || provider->drain.stopped_ns) && !ended) {
		ada_recording_clear(&loop->progress);
		ada_say("ada: recording ends, the program goes on: %s\n", provider->drain.error.text);
	}
	return chunks;
}

/* Sleeps until there is news, or doesn't (0); ends are noted first of all, for what the manifest says of them must not depend on how
 * long a turn takes. */
static void look(struct ada_loop *loop, int timeout_ms)
{
	struct ada_recorder *recorder = loop->recorder;
	struct pollfd polls[] = { { .fd = recorder->wake, .events = POLLIN },
				  { .fd = loop->signals, .events = POLLIN },
				  { .fd = loop->main_ended ? -1 : recorder->main_pidfd, .events = POLLIN },
				  { .fd = loop->ends, .events = POLLIN } };
	eventfd_t news;

	if (poll(polls, sizeof polls / sizeof *polls, timeout_ms) <= 0)
		return;
	if (polls[3].revents)
		ada_ends_note(loop->ends);
	if (timeout_ms && polls[0].revents)
		eventfd_read(recorder->wake, &news);
}

/* Its budget is looked at behind that, however long a turn takes: where more comes than can be drained, that is the remedy. */
static size_t drain_and_look(struct ada_loop *loop, struct ada_provider *provider)
{
	size_t chunks = drain(loop, provider);

	ada_budget_turn(provider, ada_clock_boottime_ns());
	return chunks;
}

/* Each turn takes a CPU from somebody: a program that fills a chunk now and then doesn't need one every millisecond. */
static bool are_many(const struct ada_provider *provider, size_t chunks)
{
	return chunks > FEW_CHUNKS || chunks * FEW_PART > provider->segment.chunks;
}

/* True: many events came. */
static bool drain_live(struct ada_loop *loop)
{
	uint64_t start_ns = ada_clock_boottime_ns();
	bool many = false;
	size_t most;

	do {
		most = 0;
		for (size_t i = 0; i < loop->live.count; i++) {
			struct ada_provider *provider = loop->live.items[i];
			size_t some = !provider->ended && ready(provider) ? drain_and_look(loop, provider) : 0;

			many |= are_many(provider, some);
			most = some > most ? some : most;
		}
	} while (most == ADA_DRAIN_TURN && ada_clock_boottime_ns() - start_ns < ROUNDS_NS);
	ada_sink_poll(loop->recorder->sink);
	ada_packed_lane_reap(loop->recorder->packers, loop->recorder->arena);
	ada_disk_retry(loop->recorder);
	loop->drained_ns = ada_clock_boottime_ns();
	return many;
}

/* Where it has taken long since they were: one is prepared, finished or let go at a time, and no other waits for more. True: many events
 * came. */
static bool drain_again(struct ada_loop *loop)
{
	if (ada_clock_boottime_ns() - loop->drained_ns < DRAIN_NS)
		return false;
	look(loop, 0);
	return drain_live(loop);
}

/* A manifest is put together of small pieces, 5 KiB a thread; what lies around them keeps these pieces in the heap, where nothing else
 * needs them until it is written again. */
static void trim(struct ada_provider *provider)
{
	uint64_t written = ada_paper_written(&provider->manifest);

	if (provider->drain.lanes.count < MANY_THREADS || provider->trimmed == written || ada_paper_pending(&provider->manifest))
		return;
	provider->trimmed = written;
	malloc_trim(0);
}

/* What was made ahead for a program that does little comes back. Not before it has begun. */
static void let_rest(struct ada_provider *provider, uint64_t now)
{
	bool rests = false;

	if (__atomic_load_n(&provider->conversations, __ATOMIC_ACQUIRE) || !ada_segment_rest_due(&provider->segment, now) ||
	    pthread_mutex_trylock(&provider->lock))
		return;
	if (provider->mapped && !__atomic_load_n(&provider->growing, __ATOMIC_ACQUIRE))
		rests = ada_segment_rest(&provider->segment, now);
	pthread_mutex_unlock(&provider->lock);
	if (rests)
		trim(provider);
}

/* What a provider needs beside its drain. */
static void attend(struct ada_loop *loop, struct ada_provider *provider, uint64_t now, bool quiet)
{
	bool gone;

	if (provider->ended)
		return;
	if (provider->unwatched && ada_provider_gone(provider))
		ada_provider_note_gone(provider);
	gone = __atomic_load_n(&provider->gone_ns, __ATOMIC_ACQUIRE);
	if (quiet && !gone)
		notice_escape(provider);
	if (quiet && !pthread_mutex_trylock(&provider->lock)) { /* else half a second later */
		if (provider->mapped)
			ada_heirs_collect(provider, false);
		pthread_mutex_unlock(&provider->lock);
	}
	if (!gone)
		let_rest(provider, now);
	keep_manifest(loop, provider, now);
	if (!ready(provider))
		return;
	if (quiet || loop->recorder->flush)
		ada_provider_quiet(provider);
	if (quiet) {
		if (!gone)
			ada_names_look(provider);
		advise(loop, provider);
	}
	if (gone && !still_talks(provider, now)) {
		drain(loop, provider);
		if (ada_disk_may_recover(loop->recorder) || (provider->drain.holding && !ada_sink_troubled(loop->recorder->sink)))
			return;
		provider_finish(loop, provider);
	}
}

static bool has_settled(const struct ada_provider *provider)
{
	return __atomic_load_n(&provider->settled, __ATOMIC_ACQUIRE);
}

/* First of all: what a drain takes is no sign any more. */
static void rouse_grower(const struct ada_loop *loop, uint64_t now)
{
	struct ada_recorder *recorder = loop->recorder;
	bool stirs;

	if (!ada_grower_naps(recorder, now))
		return;
	stirs = ada_provider_at(recorder, __atomic_load_n(&recorder->pool_seen, __ATOMIC_RELAXED));
	for (size_t i = 0; i < loop->live.count && !stirs; i++)
		stirs = !loop->live.items[i]->ended && ready(loop->live.items[i]) && ada_segment_stirs(&loop->live.items[i]->segment);
	if (stirs)
		ada_grower_rouse(recorder);
}

/* Those that have come. True: any has. */
static bool take_in(struct ada_loop *loop)
{
	struct ada_provider *provider;
	size_t taken = loop->taken;

	while ((provider = ada_provider_at(loop->recorder, loop->taken)) && has_settled(provider) &&
	       !ada_array_push(&loop->live, provider)) {
		loop->taken++;
		ada_ends_watch(loop->ends, provider);
	}
	return loop->taken != taken;
}

static void let_go(struct ada_loop *loop)
{
	size_t kept = 0;

	for (size_t i = 0; i < loop->live.count; i++) {
		struct ada_provider *provider = loop->live.items[i];
		bool released = provider->ended && ada_provider_release(provider, false);

		if (!provider->ended || !ada_provider_forget(provider) || !released)
			loop->live.items[kept++] = provider;
		drain_again(loop);
	}
	loop->live.count = kept;
}

static bool pass(struct ada_loop *loop)
{
	struct ada_recorder *recorder = loop->recorder;
	uint64_t now = ada_clock_boottime_ns();
	bool quiet = now - loop->quiet_ns > QUIET_NS, busy;
	uint64_t pause;

	rouse_grower(loop, now);
	if (now - loop->calibrate_ns > CALIBRATE_NS) {
		ada_clock_calibrate(recorder->clock);
		ada_arena_note_clock(recorder->arena, recorder->clock);
		loop->calibrate_ns = now;
	}
	if (quiet)
		loop->quiet_ns = now;
	busy = take_in(loop);
	busy |= drain_live(loop);
	for (size_t i = 0; i < loop->live.count; i++) {
		attend(loop, loop->live.items[i], now, quiet);
		busy |= drain_again(loop);
	}
	if (recorder->flush)
		recorder->flushed_ns = now;
	recorder->flush = false;
	let_go(loop);
	ada_aging_turn(recorder, now, quiet);
	ada_squeezing_turn(recorder);
	ada_disk_turn(recorder);
	pause = loop->session_cost_ns * SESSION_COST;
	loop->sessions_changed |= ada_paper_failed(&recorder->session_paper) && now - loop->session_ns > MANIFEST_NS;
	if (loop->sessions_changed && now - loop->session_ns > (pause > SESSION_NS ? pause : SESSION_NS) &&
	    !ada_paper_pending(&recorder->session_paper)) {
		uint64_t start_ns = ada_clock_boottime_ns();

		loop->sessions_changed = false;
		loop->session_ns = now;
		ada_session_update(recorder);
		loop->session_cost_ns = ada_clock_boottime_ns() - start_ns;
	}
	ada_sampler_turn(loop->sampler, now);
	if (ada_control_turn(recorder->control, now))
		loop->stop = loop->asked = true;
	ada_recording_draw(&loop->progress, recorder);
	return busy;
}

static bool is_finished(const struct ada_loop *loop, pid_t pid)
{
	for (size_t i = 0; i < loop->live.count; i++)
		if (loop->live.items[i]->pid == pid && !loop->live.items[i]->ended)
			return false;
	return true;
}

/* Nothing left that records or may yet begin to. */
static bool all_over(struct ada_loop *loop)
{
	struct ada_recorder *recorder = loop->recorder;
	bool talking;
	uint64_t now;

	if (!loop->main_ended)
		return false;
	if (recorder->options->no_wait)
		return !ada_provider_at(recorder, loop->taken) && is_finished(loop, recorder->main_pid);
	/* First: what a conversation begins is in the list when it ends. */
	talking = recorder->options->follow && ada_server_busy(recorder->server);
	if (talking || ada_provider_at(recorder, loop->taken))
		return false;
	for (size_t i = 0; i < loop->live.count; i++)
		if (!loop->live.items[i]->ended || recorder->options->follow)
			return false;
	if (!recorder->options->follow)
		return true;
	now = ada_clock_boottime_ns();
	if (loop->stray_ns && now - loop->stray_ns < STRAY_NS)
		return false;
	loop->stray_ns = now;
	/* Asked again: one that came and went meanwhile has a provider now. */
	loop->stray = ada_stray_find(recorder, ada_server_path(recorder->server));
	return !loop->stray && !ada_provider_at(recorder, loop->taken);
}

/* Once, and not of those that end right behind it. */
static void tell_waits(struct ada_loop *loop)
{
	uint64_t now = ada_clock_boottime_ns();

	if (!loop->main_ended || loop->waits_told || now - loop->main_ended_ns < WAITS_NS)
		return;
	loop->waits_told = ada_recording_waits(&loop->progress, loop->recorder, loop->stray);
}

/* An interrupt that the program takes for itself. */
static void tell_goes_on(struct ada_loop *loop)
{
	if (loop->interrupts != 1 || loop->goes_on_told || loop->main_ended || ada_clock_boottime_ns() - loop->interrupted_ns < WAITS_NS)
		return;
	loop->goes_on_told = true;
	ada_recording_goes_on(&loop->progress);
}

/* The program is over, and a process's last manifest is just being written: whoever waits for `ada trace` waits for that. */
static bool is_ending(const struct ada_loop *loop)
{
	uint64_t now = ada_clock_boottime_ns();
	bool ending = false;

	for (size_t i = 0; i < loop->live.count && loop->main_ended; i++)
		ending |= loop->live.items[i]->ended && now - loop->live.items[i]->end_ns < ENDS_NS;
	return ending;
}

void ada_loop_run(struct ada_loop *loop)
{
	do {
		bool busy;
		int longest_ms;

		look(loop, loop->timeout_ms);
		take_signals(loop);
		reap_main(loop);
		busy = pass(loop) || is_ending(loop);
		tell_waits(loop);
		tell_goes_on(loop);
		longest_ms = loop->recorder->own.full ? IDLE_FULL_MS : IDLE_MS;
		loop->timeout_ms = busy ? BUSY_MS : loop->timeout_ms < longest_ms ? loop->timeout_ms + 1 : longest_ms;
		ada_background_turn(&loop->recorder->background,
				    loop->recorder->own.leaves && !__atomic_load_n(&loop->recorder->grower_sleeps, __ATOMIC_RELAXED),
				    ada_clock_boottime_ns(), loop->timeout_ms);
	} while (!loop->stop && !all_over(loop));
}

/* Programs record no more, and wait for no chunk. True where any did. */
static bool leave_all(struct ada_recorder *recorder)
{
	struct ada_provider *provider;
	bool any = false;

	for (size_t i = 0; (provider = ada_provider_at(recorder, i)); i++)
		if (!provider->ended) {
			ada_segment_leave(&provider->segment);
			any = true;
		}
	return any;
}

/* The user wants no more, or all is over: every provider gets its last manifest, no new one comes. */
void ada_loop_end(struct ada_loop *loop)
{
	struct ada_recorder *recorder = loop->recorder;
	struct ada_error error = { "" };
	struct ada_provider *provider;
	const char *reason;

	ada_noter_close(recorder->noter); /* before the last manifests: nothing changes behind them */
	recorder->noter = NULL;
	leave_all(recorder);
	pthread_mutex_lock(&recorder->starting); /* one may be waiting for its memory */
	pthread_mutex_lock(&recorder->lock);
	recorder->closing = true;
	pthread_mutex_unlock(&recorder->lock);
	pthread_mutex_unlock(&recorder->starting);
	ada_stock_end(recorder->stock);
	for (size_t i = 0, waits = 0; (provider = ada_provider_at(recorder, i)); i++)
		while (!has_settled(provider) && waits++ < SETTLES)
			poll(NULL, 0, 1);
	reason = loop->stop ? "the recording was ended by the user" : "the program that it belongs to had ended (--no-wait)";
	if (leave_all(recorder))
		poll(NULL, 0, STOP_WAIT_MS);
	for (size_t i = 0; (provider = ada_provider_at(recorder, i)); i++)
		if (!provider->begun)
			ada_manifest_write(provider);
	ada_scribe_wait(recorder->scribe);
	while (ada_disk_may_recover(recorder)) {
		poll(NULL, 0, BUSY_MS);
		ada_sink_poll(recorder->sink);
		ada_disk_retry(recorder);
	}
	ada_aging_end(recorder);
	for (size_t i = 0; (provider = ada_provider_at(recorder, i)); i++)
		if (!provider->ended)
			ada_provider_finish(provider, reason, true);
	ada_scribe_wait(recorder->scribe);
	ada_aging_settle(recorder);
	ada_scribe_wait(recorder->scribe);
	recorder->session.end_ns = ada_clock_boottime_ns();
	ada_squeezing_settle(recorder, loop->signals);
	ada_recording_clear(&loop->progress);
	ada_heirs_name(recorder);
	ada_session_free_reserve(&recorder->session);
	ada_loop_tell(ada_session_write(recorder, true, &error), &error);
	if (!recorder->options->quiet)
		ada_recording_summary(recorder);
	ada_plans_tell_unmet(recorder->plans, recorder->filter, recorder->kept, ada_policy_asked_captures(recorder->policy),
			     ada_policy_asked_redactions(recorder->policy));
	ada_modules_tell_unmet(recorder->module_filter);
}
