#include "recorder/process/life.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/file.h"
#include "recorder/detail/detail.h"
#include "recorder/files/place.h"
#include "recorder/host/limit.h"
#include "recorder/index/space.h"
#include "recorder/policy/policy.h"
#include "recorder/process/exit.h"
#include "recorder/process/heir.h"
#include "recorder/process/stock.h"
#include "recorder/session/manifest.h"
#include "recorder/state/provider.h"

#define BEGINNING_BYTES (8ull << 20)  /* what a segment begins with, where there is plenty: huge pages */
#define LEAST_LEFT_BYTES (4ull << 20) /* of a control group: below, the rest is the programs'; and as much of it for each of them: */
#define UNFOLDS_BYTES (768ull << 10)  /* what a process that has just begun still touches */
#define YOUNG_NS 20000000ull	      /* most children of forks are gone by then, or execute something */
#define SLICE 64		      /* chunks that are drained before the windows are looked at again */
#define EVENTS_LINGER_NS 500000000ull /* for pre-rolls in events: nobody knows how long those take */

static void read_identity(struct ada_provider *provider)
{
	char path[40];
	ssize_t length;

	snprintf(path, sizeof path, "/proc/%d/exe", provider->pid);
	length = readlink(path, provider->program, sizeof provider->program - 1);
	provider->program[length > 0 ? length : 0] = 0;
	snprintf(path, sizeof path, "/proc/%d/cmdline", provider->pid);
	if (ada_file_read(path, &provider->command, &provider->command_bytes, NULL))
		provider->command = NULL;
}

/* A fork's child is what its parent is; and the child waits, or may have ended. */
static void inherit_identity(struct ada_provider *provider, const struct ada_provider *parent)
{
	memcpy(provider->program, parent->program, sizeof provider->program);
	provider->command = parent->command ? malloc(parent->command_bytes + 1) : NULL;
	if (!provider->command)
		return;
	memcpy(provider->command, parent->command, parent->command_bytes);
	provider->command_bytes = parent->command_bytes;
}

/* pid_123, or pid_123_2 where an earlier image of that pid has that name. Caller holds recorder->starting. */
static int make_directory(struct ada_provider *provider, struct ada_error *error)
{
	const char *session = provider->recorder->session.root;
	char modules[PATH_MAX], shown[PATH_MAX];

	snprintf(provider->name, sizeof provider->name, "pid_%d", provider->pid);
	for (int number = 2;; number++) {
		if (ada_path(provider->directory, "%s/%s", session, provider->name) || ada_path(modules, "%s/modules", provider->directory))
			return ada_error_system(error, ENAMETOOLONG, "%s", session);
		if (!mkdir(provider->directory, 0700))
			break;
		if (errno != EEXIST)
			return ada_error_system(error, errno, "%s can't be made", ada_directory_shown(provider->directory, shown));
		snprintf(provider->name, sizeof provider->name, "pid_%d_%d", provider->pid, number);
	}
	if (mkdir(modules, 0700))
		return ada_error_system(error, errno, "%s can't be made", ada_directory_shown(modules, shown));
	provider->manifest.session = &provider->recorder->session;
	return ada_path(provider->manifest.path, "%s/manifest.json", provider->directory) ?
		       ada_error_system(error, ENAMETOOLONG, "%s", provider->directory) :
		       0;
}

/* The child of a fork has its parent's modules at the same places, and gets its parent's table. */
static void inherit(struct ada_provider *provider, struct ada_provider *parent)
{
	pthread_mutex_lock(&parent->lock);
	if (parent->mapped) {
		uint32_t count = ada_segment_module_count(&parent->segment);

		memcpy(provider->segment.modules, parent->segment.modules, count * sizeof *parent->segment.modules);
		provider->segment.shm->module_count = count;
	}
	pthread_mutex_unlock(&parent->lock);
	pthread_mutex_lock(&parent->facts);
	for (size_t i = 0; i < parent->modules.count; i++)
		if (ada_array_push(&provider->modules, parent->modules.items[i]))
			break;
	pthread_mutex_unlock(&parent->facts);
	provider->inherited = provider->modules.count;
}

static bool link_symbols(const struct ada_provider *provider, const struct ada_provider *parent, size_t module)
{
	char from[PATH_MAX], to[PATH_MAX];

	return !ada_path(from, "%s/modules/%zu.tsv", parent->directory, module) &&
	       !ada_path(to, "%s/modules/%zu.tsv", provider->directory, module) && !link(from, to);
}

void ada_provider_settle(struct ada_provider *provider, const struct ada_provider *parent)
{
	pthread_mutex_lock(&provider->facts);
	for (size_t i = 0; i < provider->inherited; i++)
		provider->modules.items[i].symbols = provider->modules.items[i].symbols && link_symbols(provider, parent, i);
	pthread_mutex_unlock(&provider->facts);
	__atomic_store_n(&provider->settled, true, __ATOMIC_RELEASE);
}

/* Where the segment got no detail lane, only the index is recorded. */
static int open_details(struct ada_provider *provider, uint64_t buffer_bytes, struct ada_error *error)
{
	const struct ada_trace_options *options = provider->recorder->options;
	struct ada_details_options details = { .lane = provider->recorder->lane_options,
					       .start_ns = provider->start_ns,
					       .persist_all = options->detail_mode != ADA_DETAIL_CIRCULAR,
					       .buffer_bytes = buffer_bytes };

	if (!options->detail || !provider->segment.detail_chunks)
		return 0;
	if (ada_details_open(&provider->details, &provider->segment, &provider->drain, &details))
		return ada_error_system(error, ENOMEM, "process %d", provider->pid);
	return 0;
}

static int provider_enter(struct ada_recorder *recorder, struct ada_provider *provider, struct ada_error *error)
{
	int status;

	pthread_mutex_lock(&recorder->lock);
	status = ada_array_push(&recorder->providers, provider);
	pthread_mutex_unlock(&recorder->lock);
	return status ? ada_error_system(error, ENOMEM, "process %d", provider->pid) : 0;
}

/* Notes all that is needed to finish the process's files without us, before its agent has the segment. */
static void note_start(const struct ada_provider *provider, const struct ada_segment_options *options)
{
	struct ada_arena_provider note = { .pid = (uint32_t)provider->pid,
					   .parent_pid = (uint32_t)provider->parent_pid,
					   .tids_known = provider->drain.tids_known,
					   .start_ns = provider->start_ns,
					   .index_bytes = options->index_buffer_bytes,
					   .detail_bytes = options->detail_buffer_bytes,
					   .stack_bytes = options->detail_stack_bytes,
					   .detail_mode = options->detail_mode,
					   .no_small = options->no_small };

	memcpy(note.name, provider->name, sizeof note.name);
	ada_arena_note_provider(provider->recorder->arena, provider->number, &note);
}

/* Called before anything of the process gets into a file. */
static void note_started(const struct ada_provider *provider)
{
	ada_arena_note_provider_state(provider->recorder->arena, provider->number, ADA_ARENA_STARTED);
}

static void unlink_segment(const struct ada_provider *provider)
{
	char name[ADA_SHARED_NAME_BYTES];

	ada_shared_segment_name(name, provider->number);
	ada_shared_unlink(&provider->recorder->shared, name);
}

/* Keeps to what limits leave to the process and to the recorder; the number is known by then. `options` gets how the segment was made. */
static int obtain_segment(struct ada_provider *provider, struct ada_segment_options *options, int *agent_fd, struct ada_error *error)
{
	struct ada_recorder *recorder = provider->recorder;
	uint64_t used = __atomic_load_n(&recorder->pool_bytes, __ATOMIC_RELAXED);
	uint64_t least = LEAST_LEFT_BYTES + __atomic_load_n(&recorder->pool_count, __ATOMIC_RELAXED) * UNFOLDS_BYTES;
	struct ada_limits limits = ada_limits_of(provider->pid, used);
	int status;

	if (limits.own_left < least)
		return ada_error_set(error, ENOMEM, "memory limit: the control group leaves no room for another recording");
	*options = ada_stock_options(recorder);
	options->allowed_bytes = limits.room;
	options->scarce = limits.own_room < BEGINNING_BYTES;
	options->pid = (uint32_t)provider->pid;
	options->provider = provider->number;
	options->named = true;
	status = ada_space_fit(options, ada_space_left(provider->pid), error);
	if (status || !ada_stock_take(recorder->stock, options, &provider->segment, agent_fd))
		return status;
	return ada_segment_create(&provider->segment, options, agent_fd, error);
}

int ada_provider_start(struct ada_provider **result, struct ada_recorder *recorder, pid_t pid, pid_t thread_id, pid_t parent_pid,
		       struct ada_provider *parent, int *agent_fd, struct ada_error *error)
{
	struct ada_provider *provider = calloc(1, sizeof *provider);
	struct ada_segment_options segment;
	int status;

	*agent_fd = -1;
	if (!provider)
		return ada_error_system(error, ENOMEM, "process %d", pid);
	*provider = (struct ada_provider){ .recorder = recorder,
					   .pid = pid,
					   .parent_pid = parent_pid,
					   .segment.fd = -1,
					   .start_ns = ada_clock_boottime_ns(),
					   .conversations = 1,
					   .starting = true,
					   .settled = !parent };
	pthread_mutex_init(&provider->lock, NULL);
	pthread_mutex_init(&provider->facts, NULL);
	provider->pidfd = pidfd_open(pid, 0);
	if (parent)
		inherit_identity(provider, parent);
	else
		read_identity(provider);
	pthread_mutex_lock(&recorder->starting);
	provider->number = (uint32_t)recorder->providers.count; /* the array only grows here */
	status = recorder->closing ? ada_error_set(error, ESHUTDOWN, "the recording had ended by then") :
				     obtain_segment(provider, &segment, agent_fd, error);
	if (!status)
		status = make_directory(provider, error);
	if (!status && ada_drain_open(&provider->drain, &provider->segment, provider->directory, pid, &recorder->lane_options))
		status = ada_error_system(error, ENOMEM, "process %d", pid);
	if (!status)
		status = open_details(provider, segment.detail_buffer_bytes, error);
	if (!status) {
		provider->drain.tids_known = !syscall(SYS_tgkill, pid, thread_id, 0);
		provider->mapped = true;
		provider->drain.options.provider = provider->number;
		if (parent) {
			inherit(provider, parent);
			provider->segment.young_until_ns = provider->start_ns + YOUNG_NS;
		}
		note_start(provider, &segment);
		status = provider_enter(recorder, provider, error);
	}
	if (status && provider->segment.shm)
		unlink_segment(provider);
	pthread_mutex_unlock(&recorder->starting);
	if (status) {
		if (*agent_fd >= 0)
			close(*agent_fd);
		*agent_fd = -1;
		ada_provider_free(provider);
		return status;
	}
	*result = provider;
	return 0;
}

/* Closed windows are written only once no rule's pre-roll can reach into them any more, so that overlapping windows merge. */
static void follow_policy(struct ada_provider *provider)
{
	struct ada_policy *policy = provider->recorder->policy;
	uint32_t version = policy ? ada_policy_version(policy) : 0;
	struct ada_rule_info rules[ADA_RULES_MAX];
	const struct ada_clock_anchor *anchors;
	uint64_t longest = 0;

	if (version == provider->policy_version || !ada_clock_anchors(provider->recorder->clock, &anchors))
		return;
	provider->policy_version = version;
	for (size_t count = ada_policy_rules(policy, rules, ADA_RULES_MAX), i = 0; i < count; i++) {
		uint64_t pre_ns = (uint64_t)((double)rules[i].rule.pre_ticks * anchors->ns_per_tick);

		if (rules[i].rule.pre_events && pre_ns < EVENTS_LINGER_NS)
			pre_ns = EVENTS_LINGER_NS;
		longest = pre_ns > longest ? pre_ns : longest;
	}
	ada_details_linger(provider->details, longest);
}

size_t ada_provider_drain(struct ada_provider *provider)
{
	size_t chunks = 0, some;

	if (provider->ended)
		return 0;
	note_started(provider);
	if (!provider->details)
		return ada_drain_sealed(&provider->drain);
	follow_policy(provider);
	do { /* in slices: what windows pin must not wait for all that a fast program has piled up */
		some = ada_drain_some(&provider->drain, SLICE);
		chunks += some;
		provider->windows_changed |= ada_details_turn(provider->details,
							      ada_clock_ns(provider->recorder->clock, ada_clock_counter()));
	} while (some == SLICE && chunks < provider->segment.chunks);
	return chunks;
}

void ada_provider_quiet(struct ada_provider *provider)
{
	if (provider->ended)
		return;
	note_started(provider);
	ada_drain_quiet(&provider->drain);
}

static void note_end(struct ada_provider *provider)
{
	if (__atomic_load_n(&provider->replaced, __ATOMIC_ACQUIRE))
		provider->exit = (struct ada_exit_info){ .kind = ADA_EXIT_EXEC };
	else if (provider->stopped)
		provider->exit = (struct ada_exit_info){ .kind = ADA_EXIT_RUNNING };
	else if (provider->pid == provider->recorder->main_pid)
		provider->exit = provider->recorder->main_exit;
	else
		provider->exit = ada_exit_of_stranger(provider->pid, provider->pidfd);
	if (provider->exit.kind == ADA_EXIT_UNKNOWN && provider->header.crash.present)
		provider->exit = (struct ada_exit_info){ .kind = ADA_EXIT_SIGNAL, .value = (int)provider->header.crash.signal };
}

void ada_provider_finish(struct ada_provider *provider, const char *stopped, bool as_asked)
{
	uint64_t gone_ns = __atomic_load_n(&provider->gone_ns, __ATOMIC_ACQUIRE);

	if (stopped && !provider->stopped) {
		provider->stopped = strdup(stopped);
		provider->stop_as_asked = as_asked;
	}
	ada_provider_snapshot(provider);
	note_end(provider);
	provider->end_ns = gone_ns && !stopped ? gone_ns : ada_clock_boottime_ns();
	if (!provider->stopped)
		ada_exit_mark(provider);
	provider->ended = true;
	note_started(provider);
	ada_drain_finish(&provider->drain);
	if (provider->details)
		ada_details_finish(provider->details, provider->end_ns, provider->stopped ? ADA_SHORT_STOPPED : ADA_SHORT_EXIT);
	ada_provider_snapshot(provider);
	provider->finalized = true;
	ada_manifest_write(provider);
}

bool ada_provider_forget(struct ada_provider *provider)
{
	if (provider->forgotten || !provider->finalized || ada_paper_pending(&provider->manifest))
		return provider->forgotten;
	ada_arena_note_provider_state(provider->recorder->arena, provider->number, ADA_ARENA_FINISHED);
	unlink_segment(provider);
	for (size_t i = 0; i < provider->drain.lanes.count; i++)
		ada_lane_forget(&provider->drain.lanes.items[i], &provider->drain.options);
	provider->forgotten = true;
	return true;
}

bool ada_provider_release(struct ada_provider *provider, bool now)
{
	if (!provider->mapped)
		return true;
	if (!now && (ada_segment_in_use(&provider->segment) || pthread_mutex_trylock(&provider->lock)))
		return false;
	if (now)
		pthread_mutex_lock(&provider->lock);
	if (__atomic_load_n(&provider->growing, __ATOMIC_ACQUIRE)) { /* not with `now`: there is no grower any more */
		pthread_mutex_unlock(&provider->lock);
		return false;
	}
	ada_heirs_collect(provider, true);
	ada_policy_leave(provider->recorder->policy, provider);
	ada_segment_leave(&provider->segment);
	provider->mapped = false;
	ada_segment_destroy(&provider->segment);
	pthread_mutex_unlock(&provider->lock);
	return true;
}

void ada_provider_free(struct ada_provider *provider)
{
	if (provider->details)
		ada_details_close(provider->details);
	ada_drain_close(&provider->drain);
	ada_segment_destroy(&provider->segment);
	if (provider->pidfd >= 0)
		close(provider->pidfd);
	ada_array_free(&provider->modules);
	ada_array_free(&provider->heirs);
	pthread_mutex_destroy(&provider->lock);
	pthread_mutex_destroy(&provider->facts);
	free(provider->command);
	free(provider->stopped);
	free(provider->module_table);
	free(provider->thread_table);
	free(provider);
}
