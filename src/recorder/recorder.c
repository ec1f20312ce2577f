/* `ada trace`: sets everything up, runs the main loop (loop.c) until all traced processes have ended, closes the session.
 *
 *   check the program -> make the session -> server, control, grower -> spawn -> loop -> last manifests, session.json, summary
 */
#include "recorder/recorder.h"
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include "base/file.h"
#include "recorder/control/control.h"
#include "recorder/descriptors/noter.h"
#include "recorder/files/place.h"
#include "recorder/host/say.h"
#include "recorder/index/keeping.h"
#include "recorder/index/packed_lane.h"
#include "recorder/index/packers.h"
#include "recorder/process/space.h"
#include "recorder/loop.h"
#include "recorder/policy/policy.h"
#include "recorder/process/exit.h"
#include "recorder/process/life.h"
#include "recorder/process/server.h"
#include "recorder/process/stock.h"
#include "recorder/sched/samples.h"
#include "recorder/sched/sched.h"
#include "recorder/session/manifest.h"
#include "recorder/squeeze/squeezer.h"
#include "recorder/state/provider.h"

#define PRIORITY -5 /* where allowed: the drain comes before what else the machine does */
#define HEAP_BLOCK_BYTES (32 << 20)
#define HEAP_GROWS_BYTES (4 << 20)
#define SPARED_FILES 1024 /* descriptors that lanes leave to processes, conversations and manifests; half of few */

/* Of every process: descriptors are this one's. */
static bool make_room(void *context)
{
	struct ada_recorder *recorder = context;
	struct ada_provider *provider;
	bool rested = false;

	for (size_t i = 0; (provider = ada_provider_at(recorder, i)); i++)
		rested |= !provider->ended && ada_drain_rest(&provider->drain);
	return rested || ada_sink_release(recorder->sink);
}

/* The kernel gives the lowest number that is free. */
static void spare_some(void *context)
{
	struct ada_recorder *recorder = context;
	int next = fcntl(recorder->wake, F_DUPFD_CLOEXEC, 0);

	if (next >= 0)
		close(next);
	if (next < 0 || next >= recorder->lane_files)
		make_room(recorder);
}

static int open_parts(struct ada_recorder *recorder, struct ada_error *error)
{
	const struct ada_trace_options *options = recorder->options;
	int status = ada_filter_open(&recorder->filter, &options->functions, &options->exclude, error);

	if (!status)
		status = ada_module_filter_open(&recorder->module_filter, &options->modules, error);
	if (!status)
		status = ada_filter_open_list(&recorder->kept, "keep", &options->kept, error);
	if (!status)
		status = ada_shared_open(&recorder->shared, error);
	if (status)
		return status;
	status = ada_plans_open(&recorder->plans, recorder->filter) ?:
			 ada_clock_begin(&recorder->clock)	    ?:
			 ada_sink_open(&recorder->sink, false)	    ?:
								      ada_packers_open(&recorder->packers, ada_packed_lane_work, 0);
	if (status)
		return ada_error_system(error, -status, "ada can't start");
	ada_sink_be_patient(recorder->sink);
	ada_sink_use_packers(recorder->sink, recorder->packers);
	recorder->lane_options = (struct ada_lane_options){
		.sink = ada_sink_atf(recorder->sink),
		.patient = recorder->sink,
		.clock = recorder->clock,
		.pack = (enum ada_pack)options->pack,
		.packers = recorder->packers,
		.circular = options->index_mode == ADA_INDEX_CIRCULAR,
		.make_room = make_room,
		.spare_some = spare_some,
		.context = recorder,
		.segment_events = options->segment_bytes ? (options->segment_bytes - sizeof(AtfIndexHeader) - sizeof(AtfIndexFooter)) /
								   sizeof(struct ada_event) :
							   0
	};
	recorder->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return recorder->wake < 0 ? ada_error_system(error, errno, "eventfd") : 0;
}

static void close_parts(struct ada_recorder *recorder, struct ada_grower *grower)
{
	struct ada_provider *provider;

	if (recorder->control) /* first: `ada stop` hears that all is written, whatever the rest waits for */
		ada_control_close(recorder->control);
	ada_stock_rest(recorder->stock);
	if (recorder->server)
		ada_server_close(recorder->server);
	ada_stock_close(recorder->stock);
	recorder->stock = NULL;
	ada_presence_close(&recorder->presence);
	ada_sched_close(recorder->sched);
	ada_samples_close(recorder->samples);
	ada_grower_close(grower); /* behind the conversations, which wake it */
	ada_bound_close(recorder->bound);
	ada_squeezer_close(recorder->squeezer);
	ada_noter_close(recorder->noter);
	ada_scribe_close(recorder->scribe);
	for (size_t i = 0; (provider = ada_provider_at(recorder, i)); i++) {
		ada_provider_release(provider, true);
		ada_provider_forget(provider);
		ada_provider_free(provider);
	}
	ada_array_free(&recorder->providers);
	ada_array_free(&recorder->unrecorded);
	for (size_t i = 0; i < recorder->labels.count; i++)
		free(recorder->labels.items[i]);
	ada_array_free(&recorder->labels);
	ada_policy_close(recorder->policy);
	if (recorder->sink)
		ada_sink_use_packers(recorder->sink, NULL);
	ada_packers_close(recorder->packers); /* behind the lanes */
	if (recorder->sink && ada_sink_close(recorder->sink))
		ada_say("ada: the disk may not hold everything: an fsync failed\n");
	ada_arena_end(recorder->arena);
	ada_keeping_end(recorder->keeper);
	ada_arena_close(recorder->arena);
	ada_shared_remove(&recorder->shared);
	ada_plans_close(recorder->plans);
	ada_filter_close(recorder->filter);
	ada_module_filter_close(recorder->module_filter);
	ada_filter_close(recorder->kept);
	if (recorder->clock)
		ada_clock_close(recorder->clock);
	if (recorder->wake >= 0)
		close(recorder->wake);
	if (recorder->main_pidfd >= 0)
		close(recorder->main_pidfd);
	pthread_mutex_destroy(&recorder->lock);
	pthread_mutex_destroy(&recorder->starting);
}

static uint64_t file_limit(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX : limit.rlim_cur;
}

/* What others could finish the session from. Where it can't be had nobody can, and nothing is named. */
static int open_arena(struct ada_recorder *recorder, struct ada_error *error)
{
	uint64_t space = ada_space_left(getpid()), file = file_limit();
	struct ada_arena_options options = { .space_bytes = space < file ? space : file,
					     .start_ns = recorder->session.start_ns,
					     .segment_events = recorder->lane_options.segment_events,
					     .index_mode = recorder->options->index_mode };
	int status;

	if (!recorder->shared.named)
		return 0;
	status = ada_arena_open(&recorder->arena, &recorder->shared, &options, NULL) ?:
			 ada_shared_tell_session(&recorder->shared, recorder->session.directory);
	if (!status) {
		ada_sink_use_arena(recorder->sink, recorder->arena);
		recorder->lane_options.arena = recorder->arena;
		return 0;
	}
	ada_arena_close(recorder->arena);
	recorder->arena = NULL;
	return ada_shared_unname(&recorder->shared, error);
}

/* Before there is any thread, whose locks it would have as they happen to be. Without one, who recovers has the disk, and /dev/shm. */
static void open_keeper(struct ada_recorder *recorder)
{
	struct ada_keeping keeping = { .shared = recorder->shared,
				       .arena = ada_arena_fd(recorder->arena),
				       .session = recorder->session.fd };

	if (recorder->options->keep)
		recorder->keeper = recorder->options->keep(&keeping);
}

/* Signals by descriptor and many files, both put back in the child. */
static int prepare_process(struct ada_loop *loop, struct ada_error *error)
{
	struct ada_recorder *recorder = loop->recorder;
	struct ada_inheritance *inheritance = &recorder->inheritance;
	static const int signals[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGCHLD, SIGPIPE, SIGXFSZ };
	struct rlimit files;
	sigset_t set;
	rlim_t spared;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
		sigaddset(&set, signals[i]);
	if (recorder->options->mark_signal)
		sigaddset(&set, recorder->options->mark_signal);
	/* Blocks of files come and go all the time: from the heap, and kept there, they are not zeroed by the kernel each time. */
	mallopt(M_MMAP_THRESHOLD, HEAP_BLOCK_BYTES);
	mallopt(M_TRIM_THRESHOLD, 2 * HEAP_BLOCK_BYTES);
	/* A heap that grows by little waits each time until whoever makes pages lets go of the address space, which may have lost its CPU. */
	mallopt(M_TOP_PAD, HEAP_GROWS_BYTES);
	getrlimit(RLIMIT_NOFILE, &inheritance->files);
	files = inheritance->files;
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	spared = files.rlim_cur / 2 < SPARED_FILES ? files.rlim_cur / 2 : SPARED_FILES;
	recorder->lane_files = files.rlim_cur < INT_MAX ? (int)(files.rlim_cur - spared) : INT_MAX;
	loop->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (loop->signals < 0)
		return ada_error_system(error, errno, "signalfd");
	return pthread_sigmask(SIG_BLOCK, &set, &inheritance->mask) ? ada_error_system(error, errno, "sigmask") : 0;
}

static size_t running_processes(void *context, pid_t *pids, size_t max)
{
	struct ada_recorder *recorder = context;
	size_t count = 0;

	pthread_mutex_lock(&recorder->lock);
	for (size_t i = recorder->providers.count; i-- && count < max;) {
		const struct ada_provider *provider = recorder->providers.items[i];

		if (!provider->ended && !__atomic_load_n(&provider->replaced, __ATOMIC_RELAXED))
			pids[count++] = provider->pid;
	}
	pthread_mutex_unlock(&recorder->lock);
	return count;
}

/* The kernel follows the program from its first instruction on, so before that. Without its facts all else is as it is. */
static void open_sched(void *context, pid_t pid)
{
	struct ada_recorder *recorder = context;
	const struct ada_sched_options options = { .directory = recorder->session.root,
						   .bound = recorder->bound,
						   .budget = recorder->options->budget,
						   .source = { recorder, running_processes } };

	if (!recorder->options->sched)
		return;
	ada_sched_open(&recorder->sched, pid, &options, &recorder->no_sched);
	ada_samples_open(&recorder->samples, options.directory, options.bound, &options.source, &recorder->no_samples);
}

/* What looks after closed segments: where the session may not grow, or become old, without end; where they were written in a hurry. */
static int open_bound(struct ada_recorder *recorder, struct ada_error *error)
{
	const struct ada_trace_options *options = recorder->options;
	const struct ada_bound_options bound = { .session = recorder->session.root,
						 .disk_limit = options->disk_limit,
						 .detail_limit = options->detail_limit,
						 .max_age_ns = options->max_age_ns,
						 .segment_bytes = options->segment_bytes,
						 .fold = options->fold };
	bool any = options->disk_limit || options->detail_limit || options->max_age_ns;
	int status = any ? ada_bound_open(&recorder->bound, &bound) : 0;

	recorder->lane_options.bound = recorder->bound;
	if (!status && options->pack != ADA_PACK_NEVER)
		status = ada_squeezer_open(&recorder->squeezer);
	recorder->lane_options.squeezer = recorder->squeezer;
	return status ? ada_error_system(error, -status, "ada can't start") : 0;
}

/* The clock was begun some ms before, so little is left to wait for. What counts in ticks comes behind it. */
static int settle_clock(struct ada_recorder *recorder, struct ada_error *error)
{
	const struct ada_clock_anchor *anchors;
	int status = ada_clock_settle(recorder->clock);
	double ns_per_tick;

	if (status)
		return ada_error_system(error, -status, "ada can't start");
	ada_clock_round(recorder->clock, recorder->options->resolution_ns);
	ada_clock_anchors(recorder->clock, &anchors);
	ns_per_tick = anchors[0].ns_per_tick;
	recorder->ticks_a_wait = (uint32_t)(ADA_WAIT_NS / ns_per_tick);
	ada_arena_note_clock(recorder->arena, recorder->clock);
	status = ada_policy_open(&recorder->policy, recorder->options, 1 / ns_per_tick, error);
	if (!status)
		ada_policy_attach(recorder->policy, recorder);
	return status;
}

static int launch(struct ada_loop *loop, struct ada_error *error)
{
	struct ada_recorder *recorder = loop->recorder;
	int status = ada_presence_open(&recorder->presence, error);
	struct ada_spawn spawn;
	pid_t pid;

	if (!status && (status = ada_scribe_open(&recorder->scribe)))
		ada_error_system(error, -status, "ada can't start");
	if (!status)
		status = open_bound(recorder, error);
	if (!status)
		status = ada_server_open(&recorder->server, recorder, error);
	if (!status)
		status = settle_clock(recorder, error);
	if (!status)
		status = ada_grower_open(&loop->grower, recorder, error);
	if (!status) /* early: the program's own segment lies ready when it asks for it */
		status = ada_stock_open(&recorder->stock, recorder, error);
	if (!status)
		recorder->noter = ada_noter_open(recorder);
	if (!status)
		status = ada_control_open(&recorder->control, recorder, error);
	if (!status)
		status = ada_session_write(recorder, false, error);
	if (status)
		return status;
	spawn = (struct ada_spawn){ .path = recorder->program.path,
				    .arguments = recorder->options->command,
				    .agent = recorder->agent,
				    .socket = ada_server_entry(recorder->server),
				    .inheritance = &recorder->inheritance,
				    .forked = open_sched,
				    .context = recorder };
	/* Under the lock: a HELLO must find main_pid set. */
	pthread_mutex_lock(&recorder->lock);
	pid = ada_spawn(&spawn, error);
	if (pid > 0)
		recorder->main_pid = pid;
	pthread_mutex_unlock(&recorder->lock);
	if (pid < 0)
		return pid;
	if (*recorder->no_sched.text && !recorder->options->quiet)
		ada_say("ada: no facts of the scheduler will be recorded%s: %s\n", recorder->samples ? " but samples" : "",
			recorder->no_sched.text);
	/* This thread; the child has gone on without. */
	ada_background_open(&recorder->background, !setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + PRIORITY));
	recorder->main_pidfd = pidfd_open(pid, 0);
	return 0;
}

int ada_trace(const struct ada_trace_options *options, int *exit_status, struct ada_error *error)
{
	struct ada_recorder recorder = { .options = options,
					 .shared.directory = -1,
					 .presence = { .fd = -1, .quit = -1 },
					 .wake = -1,
					 .main_pidfd = -1,
					 .session = { .output_fd = -1, .fd = -1 } };
	struct ada_loop loop = { .recorder = &recorder, .signals = -1, .ends = epoll_create1(EPOLL_CLOEXEC), .grower.wake = -1 };
	bool made = false, launched = false;
	struct ada_error latest = { "" };
	uint64_t events = 0;
	int status;

	pthread_mutex_init(&recorder.lock, NULL);
	pthread_mutex_init(&recorder.starting, NULL);
	status = ada_program_find(&recorder.program, options->command[0], exit_status, error);
	if (status)
		goto out;
	*exit_status = ADA_EXIT_FAILED;
	status = ada_agent_find(recorder.agent, options->agent, error) ?: prepare_process(&loop, error);
	if (status)
		goto out;
	status = open_parts(&recorder, error) ?: ada_session_make(&recorder.session, options->output, error);
	if (status)
		goto out;
	made = true;
	status = open_arena(&recorder, error);
	if (!status)
		open_keeper(&recorder);
	ada_say_open();
	status = status ?: launch(&loop, error);
	if (status)
		goto out;
	launched = true;
	ada_loop_tell(ada_session_publish(&recorder.session, &latest), &latest);
	if (options->announce)
		dprintf(options->announce, "%s\n", recorder.session.directory);
	loop.sampler = ada_sampler_open(&recorder);
	ada_recording_open(&loop.progress, options->quiet);
	ada_loop_run(&loop);
	ada_background_hurry(&recorder.background); /* somebody waits for the end */
	ada_sched_stop(recorder.sched);
	ada_samples_stop(recorder.samples);
	ada_loop_end(&loop);
	events = ada_recording_totals(&recorder).events;
	*exit_status = loop.main_ended ? ada_exit_shell_status(&recorder.main_exit) : loop.asked ? 0 : 128 + SIGINT;
out:
	ada_sampler_close(loop.sampler);
	close_parts(&recorder, &loop.grower);
	if (made && !launched)
		ada_session_remove(&recorder.session);
	ada_session_leave(&recorder.session);
	if (loop.signals >= 0)
		close(loop.signals);
	if (loop.ends >= 0)
		close(loop.ends);
	ada_say_close(); /* all is written but this */
	ada_array_free(&loop.live);
	if (launched && options->finished && !options->disk_limit)
		options->finished(recorder.session.directory, events);
	return status;
}
