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
#include "recorder/budget/budget.h"
#include "recorder/descriptors/noted.h"
#include "recorder/descriptors/noter.h"
#include "recorder/detail/detail.h"
#include "recorder/files/place.h"
#include "recorder/host/limit.h"
#include "recorder/host/process.h"
#include "recorder/process/space.h"
#include "recorder/policy/policy.h"
#include "recorder/process/exit.h"
#include "recorder/process/grower.h"
#include "recorder/process/heir.h"
#include "recorder/process/stock.h"
#include "recorder/session/manifest.h"
#include "recorder/state/provider.h"

#define BEGINNING_BYTES (8ull << 20) /* what a segment begins with, where there is plenty: huge pages */
/* Of a control group: below, the rest is the programs'; and for each of them, what one that has just begun still touches, some 0.9 MiB, and
 * what those touch that are turned away. */
#define LEAST_LEFT_BYTES (8ull << 20)
#define UNFOLDS_BYTES (5ull << 18)
#define YOUNG_NS 20000000ull /* most children are gone by then, and those of forks execute something */
#define SLICE 64	     /* chunks that are drained before the windows are looked at again */

static void read_identity(struct ada_provider *provider)
{
	char path[40], started_as[PATH_MAX];
	ssize_t length;

	snprintf(path, sizeof path, "/proc/%d/exe", provider->pid);
	length = readlink(path, provider->program, sizeof provider->program - 1);
	provider->program[length > 0 ? length : 0] = 0;
	if (ada_process_started_as(provider->pid, started_as))
		snprintf(provider->program, sizeof provider->program, "%s", started_as);
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
	char shown[PATH_MAX];

	snprintf(provider->name, sizeof provider->name, "pid_%d", provider->pid);
	for (int number = 2;; number++) {
		if (ada_path(provider->directory, "%s/%s", session, provider->name))
			return ada_error_system(error, ENAMETOOLONG, "%s", session);
		if (!mkdir(provider->directory, 0700))
			break;
		if (errno != EEXIST)
			return ada_error_system(error, errno, "%s can't be made", ada_directory_shown(provider->directory, shown));
		snprintf(provider->name, sizeof provider->name, "pid_%d_%d", provider->pid, number);
	}
	provider->manifest.session = provider->descriptors.session = &provider->recorder->session;
	return ada_path(provider->manifest.path, "%s/manifest.json", provider->directory) ||
			       ada_path(provider->descriptors.path, "%s/descriptors.json", provider->directory) ?
		       ada_error_system(error, ENAMETOOLONG, "%s", provider->directory) :
		       0;
}

/* The child of a fork has its parent's modules at the same places, and gets its parent's `table`, unless it took that itself. */
static void inherit(struct ada_provider *provider, struct ada_provider *parent, bool table)
{
	pthread_mutex_lock(&parent->lock);
	if (table && parent->mapped) {
		uint32_t count = ada_segment_module_count(&parent->segment);

		memcpy(provider->segment.modules, parent->segment.modules, count * sizeof *parent->segment.modules);
		provider->segment.shm->module_count = count;
	}
	pthread_mutex_unlock(&parent->lock);
	provider->inherited = ada_segment_module_count(&provider->segment); /* the parent may load others from now on */
	provider->parent = parent;
}

static bool link_symbols(const struct ada_provider *provider, const struct ada_provider *parent, size_t module)
{
	char from[PATH_MAX], to[PATH_MAX];

	return !ada_path(from, "%s/modules/%zu.tsv", parent->directory, module) &&
	       !ada_path(to, "%s/modules/%zu.tsv", provider->directory, module) && !link(from, to);
}

/* What is known of the inherited modules, and their tables of names. Nobody else knows anything of the child's modules yet. */
static void inherit_names(struct ada_provider *provider, struct ada_provider *parent)
{
	pthread_mutex_lock(&provider->facts);
	pthread_mutex_lock(&parent->facts);
	for (size_t i = provider->modules.count; i < parent->modules.count && i < provider->inherited; i++)
		if (ada_array_push(&provider->modules, parent->modules.items[i]))
			break;
	pthread_mutex_unlock(&parent->facts);
	provider->inherited = provider->modules.count;
	for (size_t i = 0; i < provider->inherited; i++)
		provider->modules.items[i].symbols = provider->modules.items[i].symbols && link_symbols(provider, parent, i);
	pthread_mutex_unlock(&provider->facts);
}

void ada_provider_settle(struct ada_provider *provider)
{
	char modules[PATH_MAX];

	if (!ada_path(modules, "%s/modules", provider->directory))
		mkdir(modules, 0700); /* without it no table of names can be written, and the manifest says so of each module */
	if (provider->parent)
		inherit_names(provider, provider->parent);
	__atomic_store_n(&provider->settled, true, __ATOMIC_RELEASE);
}

static uint32_t redacted_of(void *context, uint64_t function_id)
{
	const struct ada_provider *provider = context;

	return ada_policy_redacted(provider->recorder->policy, provider, function_id);
}

/* Where the segment got no detail lane, only the index is recorded. */
static int open_details(struct ada_provider *provider, uint64_t buffer_bytes, struct ada_error *error)
{
	const struct ada_trace_options *options = provider->recorder->options;
	struct ada_details_options details = { .lane = provider->recorder->lane_options,
					       .start_ns = provider->start_ns,
					       .persist_all = options->detail_mode != ADA_DETAIL_CIRCULAR,
					       .buffer_bytes = buffer_bytes,
					       .redacted = options->redactions.count ? redacted_of : NULL,
					       .context = provider };

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
	struct ada_arena_provider note;

	ada_arena_provider_of(options, &note); /* the layout */
	note.pid = (uint32_t)provider->pid;
	note.parent_pid = (uint32_t)provider->parent_pid;
	note.tids_known = provider->drain.tids_known;
	note.start_ns = provider->start_ns;
	note.ready = provider->ready;
	note.forked_from = provider->parent ? provider->parent->number + 1 : 0;
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

/* The grower asks all the time; its answer does where there are no limits that programs that come at once could exceed together. It needn't
 * ask of this one soon, then. */
static struct ada_limits limits_of(struct ada_provider *provider)
{
	const struct ada_recorder *recorder = provider->recorder;
	uint64_t room;

	if (ada_grower_unlimited(recorder, provider->start_ns, &room) && ada_limit_is_shared(provider->pid)) {
		provider->allowed_ns = provider->start_ns;
		provider->allowed_among = SIZE_MAX;
		return (struct ada_limits){ room, room, UINT64_MAX };
	}
	return ada_limits_of(provider->pid, __atomic_load_n(&recorder->pool_bytes, __ATOMIC_RELAXED));
}

/* How many processes live. The grower hasn't come across the last ones yet, and where it gets no CPU these are many. Under
 * recorder->starting, where the array grows. */
static uint64_t crowd(const struct ada_recorder *recorder)
{
	uint64_t unseen = recorder->providers.count - __atomic_load_n(&recorder->pool_seen, __ATOMIC_RELAXED);

	return __atomic_load_n(&recorder->pool_count, __ATOMIC_RELAXED) + unseen;
}

static struct ada_segment_options options_for(const struct ada_provider *provider, const struct ada_limits *limits)
{
	struct ada_segment_options options = ada_stock_options(provider->recorder);

	options.allowed_bytes = limits->room;
	options.scarce = limits->own_room / (crowd(provider->recorder) + 1) < BEGINNING_BYTES;
	options.brief = provider->pid != provider->recorder->main_pid;
	options.pid = (uint32_t)provider->pid;
	options.provider = provider->number;
	options.named = true;
	return options;
}

/* Keeps to what limits leave to the process and to the recorder; the number is known by then. `options` gets how the segment was made. */
static int obtain_segment(struct ada_provider *provider, struct ada_segment_options *options, int *agent_fd, struct ada_error *error)
{
	struct ada_recorder *recorder = provider->recorder;
	struct ada_limits limits = limits_of(provider);
	int status;

	if (limits.own_left < LEAST_LEFT_BYTES + crowd(recorder) * UNFOLDS_BYTES)
		return ada_error_set(error, ENOMEM, "memory limit: the control group leaves no room for another recording");
	*options = options_for(provider, &limits);
	status = ada_space_fit(options, ada_space_left(provider->pid), error);
	if (status)
		return status;
	options->children &= limits.own_left == UINT64_MAX && ada_stock_suits(recorder->stock, options);
	if (!ada_stock_take(recorder->stock, options, &provider->segment, agent_fd))
		return 0;
	return ada_segment_create(&provider->segment, options, agent_fd, error);
}

/* The segment is the process's already; now it is this provider's, too. Behind the note, which says where it was found before. */
static int keep_segment(struct ada_provider *provider, struct ada_error *error)
{
	struct ada_limits limits = limits_of(provider);
	struct ada_segment_options options = options_for(provider, &limits);
	int status;

	options.ready = provider->ready;
	options.children &= limits.own_left == UINT64_MAX;
	status = ada_segment_assign(&provider->segment, &options);
	return status ? ada_error_system(error, -status, "process %d", provider->pid) : 0;
}

/* When the process that took a segment began: as it says, where that can be. */
static uint64_t taken_ns(const struct ada_provider *provider, const struct ada_provider *parent)
{
	uint64_t said_ns = __atomic_load_n(&provider->segment.shm->ready.taken_ns, __ATOMIC_RELAXED);

	return said_ns >= parent->start_ns && said_ns <= provider->start_ns ? said_ns : parent->start_ns;
}

/* On kernels that tell no descriptor of a peer that is gone, its number may be another's by now. */
static int pidfd_of(const struct ada_provider *provider, const struct ada_newcomer *newcomer)
{
	int fd = newcomer->pidfd >= 0 ? newcomer->pidfd : pidfd_open(provider->pid, 0);
	uint64_t began_ns;

	if (newcomer->pidfd < 0 && newcomer->taken && fd >= 0 && ada_process_start_ns(provider->pid, &began_ns) &&
	    began_ns > provider->start_ns) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static void identify(struct ada_provider *provider, const struct ada_newcomer *newcomer)
{
	provider->pidfd = pidfd_of(provider, newcomer);
	if (newcomer->taken && provider->pidfd < 0)
		provider->gone_ns = ada_clock_boottime_ns();
	ada_clock_process_ns(provider->pid, &provider->cpu_before_ns);
	if (newcomer->parent)
		inherit_identity(provider, newcomer->parent);
	else
		read_identity(provider);
}

/* Under recorder->starting. */
static int provider_make(struct ada_provider *provider, const struct ada_newcomer *newcomer, int *agent_fd, struct ada_error *error)
{
	struct ada_recorder *recorder = provider->recorder;
	struct ada_segment_options segment = ada_stock_options(recorder);
	int status = 0;

	if (recorder->closing)
		return ada_error_set(error, ESHUTDOWN, "the recording had ended by then");
	provider->number = (uint32_t)recorder->providers.count; /* the array only grows here */
	if (!newcomer->taken)
		status = obtain_segment(provider, &segment, agent_fd, error);
	if (!status)
		status = make_directory(provider, error);
	if (!status && ada_drain_open(&provider->drain, &provider->segment, provider->directory, provider->pid, &recorder->lane_options))
		status = ada_error_system(error, ENOMEM, "process %d", provider->pid);
	if (!status)
		status = open_details(provider, segment.detail_buffer_bytes, error);
	if (status)
		return status;
	provider->drain.tids_known = !syscall(SYS_tgkill, provider->pid, newcomer->thread_id, 0);
	provider->mapped = true;
	provider->drain.options.provider = provider->number;
	provider->drain.options.ledger = &provider->ledger;
	if (newcomer->parent)
		inherit(provider, newcomer->parent, !newcomer->taken);
	if (provider->pid != recorder->main_pid)
		provider->segment.young_until_ns = segment.scarce ? UINT64_MAX : provider->start_ns + YOUNG_NS;
	note_start(provider, &segment);
	status = newcomer->taken ? keep_segment(provider, error) : 0;
	return status ?: provider_enter(recorder, provider, error);
}

static void turn_away(const struct ada_newcomer *newcomer)
{
	if (newcomer->pidfd >= 0)
		close(newcomer->pidfd);
	if (newcomer->taken) {
		struct ada_segment segment = newcomer->taken->segment;

		ada_segment_leave(&segment);
		ada_segment_destroy(&segment);
	}
}

/* Who has the segment records no more; nobody finds it by a name. */
static void give_up(struct ada_provider *provider, const struct ada_newcomer *newcomer)
{
	struct ada_segment_options options = ada_stock_options(provider->recorder);

	if (!provider->segment.shm)
		return;
	unlink_segment(provider);
	if (!newcomer->taken)
		return;
	options.ready = newcomer->taken->number;
	ada_segment_unname(&options);
	ada_segment_leave(&provider->segment);
}

int ada_provider_start(struct ada_provider **result, struct ada_recorder *recorder, const struct ada_newcomer *newcomer, int *agent_fd,
		       struct ada_error *error)
{
	struct ada_provider *provider = calloc(1, sizeof *provider);
	int status;

	*agent_fd = -1;
	if (!provider) {
		turn_away(newcomer);
		return ada_error_system(error, ENOMEM, "process %d", newcomer->pid);
	}
	*provider = (struct ada_provider){ .recorder = recorder,
					   .pid = newcomer->pid,
					   .parent_pid = newcomer->parent_pid,
					   .segment.fd = -1,
					   .start_ns = ada_clock_boottime_ns(),
					   .conversations = 1,
					   .starting = true,
					   .settled = !newcomer->parent };
	if (newcomer->taken) {
		provider->segment = newcomer->taken->segment;
		provider->ready = newcomer->taken->number;
		provider->start_ns = taken_ns(provider, newcomer->parent);
	}
	pthread_mutex_init(&provider->lock, NULL);
	pthread_mutex_init(&provider->facts, NULL);
	identify(provider, newcomer);
	pthread_mutex_lock(&recorder->starting);
	status = provider_make(provider, newcomer, agent_fd, error);
	if (status)
		give_up(provider, newcomer);
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
	uint64_t longest_ns = 0, longest_events = 0;

	if (version == provider->policy_version || !ada_clock_anchors(provider->recorder->clock, &anchors))
		return;
	provider->policy_version = version;
	for (size_t count = ada_policy_rules(policy, rules, ADA_RULES_MAX), i = 0; i < count; i++) {
		uint64_t ns = (uint64_t)((double)rules[i].rule.pre_ticks * anchors->ns_per_tick), events = rules[i].rule.pre_events;

		longest_ns = ns > longest_ns ? ns : longest_ns;
		longest_events = events > longest_events ? events : longest_events;
	}
	ada_details_pre_rolls(provider->details, longest_ns, longest_events);
}

/* What its descriptors lead to at a mark. */
static void follow_marks(struct ada_provider *provider)
{
	uint64_t ns = ada_details_marked_ns(provider->details);

	if (ns > provider->noted_ns)
		ada_noter_ask(provider->recorder->noter, provider);
	provider->noted_ns = ns;
}

size_t ada_provider_drain(struct ada_provider *provider)
{
	bool in_turns = provider->recorder->options->budget > 0;
	size_t chunks = 0, some, most = in_turns ? ADA_DRAIN_TURN : provider->segment.chunks;

	if (provider->ended)
		return 0;
	note_started(provider);
	if (!provider->details)
		return in_turns ? ada_drain_some(&provider->drain, most) : ada_drain_sealed(&provider->drain);
	follow_policy(provider);
	do { /* in slices: what windows pin must not wait for all that a fast program has piled up */
		some = ada_drain_some(&provider->drain, most < SLICE ? most : SLICE);
		chunks += some;
		provider->windows_changed |= ada_details_turn(provider->details,
							      ada_clock_ns(provider->recorder->clock, ada_clock_counter()));
		follow_marks(provider);
	} while (some == SLICE && chunks < most);
	return chunks;
}

void ada_provider_quiet(struct ada_provider *provider)
{
	if (provider->ended)
		return;
	note_started(provider);
	ada_drain_quiet(&provider->drain);
	ada_provider_note_cpu(provider);
}

bool ada_provider_is_written(const struct ada_provider *provider, size_t thread)
{
	return provider->ended || ada_lane_is_written(&provider->drain.lanes.items[thread]);
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
	if (provider->exit.kind == ADA_EXIT_UNKNOWN && provider->header.crash.present && provider->header.crash.end)
		provider->exit = (struct ada_exit_info){ .kind = ADA_EXIT_SIGNAL, .value = (int)provider->header.crash.end };
}

void ada_provider_finish(struct ada_provider *provider, const char *stopped, bool as_asked)
{
	uint64_t gone_ns = __atomic_load_n(&provider->gone_ns, __ATOMIC_ACQUIRE);

	if (stopped && !provider->stopped) {
		provider->stopped = strdup(stopped);
		provider->stop_as_asked = as_asked;
	}
	ada_budget_end(provider);
	ada_provider_snapshot(provider);
	note_end(provider);
	provider->end_ns = gone_ns && !stopped ? gone_ns : ada_clock_boottime_ns();
	if (!provider->stopped)
		ada_exit_mark(provider);
	provider->ended = true;
	note_started(provider);
	ada_session_reserve_lock();
	ada_sink_insist(provider->recorder->sink, true);
	ada_drain_finish(&provider->drain);
	if (provider->details)
		ada_details_finish(provider->details, provider->end_ns, provider->stopped ? ADA_SHORT_STOPPED : ADA_SHORT_EXIT);
	ada_sink_insist(provider->recorder->sink, false);
	ada_session_reserve_unlock();
	ada_provider_snapshot(provider);
	provider->finalized = true;
	ada_manifest_write(provider);
}

bool ada_provider_forget(struct ada_provider *provider)
{
	if (provider->forgotten || !provider->finalized || ada_paper_pending(&provider->manifest) ||
	    ada_paper_pending(&provider->descriptors))
		return provider->forgotten;
	ada_arena_note_provider_state(provider->recorder->arena, provider->number, ADA_ARENA_FINISHED);
	if (provider->spare && provider->recorder->stock)
		ada_stock_give(provider->recorder->stock, &provider->segment, provider->number);
	else
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
	/* It needs its name, which goes with the last manifest: ada_provider_forget gives it. */
	provider->spare = !now && !provider->forgotten && ada_stock_wants(provider->recorder->stock, &provider->segment);
	if (!provider->spare)
		ada_segment_destroy(&provider->segment);
	pthread_mutex_unlock(&provider->lock);
	return true;
}

void ada_provider_free(struct ada_provider *provider)
{
	if (provider->details)
		ada_details_close(provider->details);
	ada_drain_close(&provider->drain);
	ada_ledger_free(&provider->ledger);
	ada_noted_free(provider->noted);
	ada_segment_destroy(&provider->segment);
	if (provider->pidfd >= 0)
		close(provider->pidfd);
	ada_array_free(&provider->modules);
	ada_array_free(&provider->heirs);
	ada_array_free(&provider->mutes);
	pthread_mutex_destroy(&provider->lock);
	pthread_mutex_destroy(&provider->facts);
	free(provider->command);
	free(provider->stopped);
	free(provider->module_table);
	free(provider->thread_table);
	free(provider);
}
