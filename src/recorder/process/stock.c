#include "recorder/process/stock.h"
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>
#include "recorder/budget/budget.h"
#include "recorder/host/limit.h"
#include "recorder/process/space.h"
#include "recorder/process/grower.h"
#include "recorder/process/server.h"
#include "recorder/process/spare.h"
#include "recorder/state/provider.h"

#define SECOND_NS 1000000000ull
#define AT_START 1u		  /* for the program, or for the next one that is executed */
#define AT_MOST 4u		  /* once there are children of forks */
#define FUNCTIONS 16384u	  /* few programs have more */
#define PLENTY_BYTES (1ull << 30) /* the recorder may take so much more: nobody has yet what lies ready */
#define LOOK_AGAIN_S 1		  /* at what others did to the segments, and behind a look that found less memory */
#define LOOKS 2			  /* so often nobody has a segment that was taken, until it is given up: its taker died before HELLO */
#define AWAIT_NS 5000000000ull	  /* longest wait for one that is on its way */
#define SETTLE_NS 2000000000ull
#define SLICE_NS 1000000ull

#define FIRST 1u /* the program's; what follows is for children, most of which are gone soon: clearing pages would be most of their cost */

enum stage { FREE, LISTED, ADOPTED, ENTERED };
struct place {
	enum stage stage;
	uint32_t number;
	struct ada_segment segment; /* LISTED */
	int agent_fd;		    /* -1: closed, so that it can be seen whether the taker has the segment */
	unsigned looks;
};

struct ada_stock {
	struct ada_recorder *recorder;
	struct ada_segment_options options;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct place places[ADA_READY_PLACES]; /* those of the page */
	struct ada_spares spares;
	size_t wanted;
	uint32_t last; /* number given */
	bool quit;
};

struct ada_segment_options ada_stock_options(const struct ada_recorder *recorder)
{
	const struct ada_trace_options *options = recorder->options;

	return (struct ada_segment_options){ .shared = &recorder->shared,
					     .index_buffer_bytes = options->index_buffer_bytes,
					     .index_mode = options->index_mode,
					     .on_full = options->on_full,
					     .detail_buffer_bytes = options->detail ? options->detail_buffer_bytes : 0,
					     .detail_stack_bytes = options->detail_stack_bytes,
					     .stack_at_return = options->stack_at_return,
					     .captures = true,
					     .detail_mode = options->detail_mode,
					     .detail_history = options->budget > 0 ? ADA_BUDGET_HISTORY : 0,
					     .ticks_a_wait = recorder->ticks_a_wait,
					     .poison = options->poison,
					     .unbound = options->unbound,
					     .price_wanted = !__atomic_load_n(&recorder->price_event, __ATOMIC_ACQUIRE),
					     .filters_wanted = ada_options_flip(options),
					     /* Where all detail is kept, the recorder pins it before a process begins. */
					     .children = !options->detail || options->detail_mode == ADA_DETAIL_CIRCULAR };
}

/* --- the page of struct ada_presence ------------------------------------------------------------------------------------ */

static struct ada_ready *page_place(const struct ada_stock *stock, const struct place *place)
{
	struct ada_presence *page = stock->recorder->presence.page;

	return page ? &page->ready[place - stock->places] : NULL;
}

static void list(struct ada_stock *stock, const struct place *place)
{
	struct ada_ready *ready = page_place(stock, place);
	struct stat file;

	if (!ready || fstat(place->segment.fd, &file))
		return;
	ready->fd = place->segment.fd;
	ready->device = file.st_dev;
	ready->inode = file.st_ino;
	__atomic_store_n(&ready->number, place->number, __ATOMIC_RELEASE);
}

static void unlist(struct ada_stock *stock, const struct place *place)
{
	struct ada_ready *ready = page_place(stock, place);

	if (ready)
		__atomic_store_n(&ready->number, 0, __ATOMIC_RELEASE);
}

/* --- making and giving up ----------------------------------------------------------------------------------------------- */

/* Whether there is plenty of memory. Where a limit holds, even one shared with others, each process gets what is left when the process
 * comes, and nothing lies ready. */
static uint64_t plenty(const struct ada_stock *stock)
{
	const struct ada_recorder *recorder = stock->recorder;
	struct statvfs file_system;
	uint64_t room;

	if (!ada_grower_unlimited(recorder, ada_clock_boottime_ns(), &room))
		room = ada_limit_room(getpid(), __atomic_load_n(&recorder->pool_bytes, __ATOMIC_RELAXED));
	if (!recorder->shared.own || room <= PLENTY_BYTES || ada_space_left(getpid()) != UINT64_MAX)
		return 0;
	return fstatvfs(recorder->shared.directory, &file_system) || !file_system.f_blocks ||
			       file_system.f_bavail > file_system.f_blocks / 2 ?
		       room :
		       0;
}

static struct ada_segment_options options_of(const struct ada_stock *stock, uint32_t number)
{
	struct ada_segment_options options = stock->options;

	options.ready = number;
	options.provider = ADA_READY_BIT | number;
	return options;
}

static bool segment_make(struct ada_stock *stock, struct place *place)
{
	struct ada_segment_options options = options_of(stock, place->number);
	uint64_t room = plenty(stock);

	options.allowed_bytes = room / ADA_READY_PLACES; /* until the grower knows the process */
	options.brief = place->number > FIRST;
	if (!room || (!(options.brief && ada_spares_take(&stock->spares, &options, &place->segment, &place->agent_fd)) &&
		      ada_segment_create(&place->segment, &options, &place->agent_fd, NULL)))
		return false;
	if (!ada_segment_policy_ahead(&place->segment, FUNCTIONS)) /* else it is made when it is needed, and a child asks */
		place->segment.shm->ready.functions = FUNCTIONS;
	__atomic_store_n(&place->segment.shm->ready.state, ADA_READY_LIES, __ATOMIC_RELEASE);
	return true;
}

static void discard(const struct ada_stock *stock, struct place *place)
{
	struct ada_segment_options options = options_of(stock, place->number);

	if (place->agent_fd >= 0)
		close(place->agent_fd);
	ada_segment_unname(&options);
	ada_segment_leave(&place->segment);
	ada_segment_destroy(&place->segment);
}

static uint32_t state_of(const struct place *place)
{
	return place->stage == LISTED ? __atomic_load_n(&place->segment.shm->ready.state, __ATOMIC_SEQ_CST) : ADA_READY_NONE;
}

static bool state_change(const struct place *place, uint32_t from)
{
	return place->stage == LISTED && __atomic_compare_exchange_n(&place->segment.shm->ready.state, &from, ADA_READY_NONE, false,
								     __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}

/* The place is free from here on; the caller has what was in it. */
static struct place empty(struct ada_stock *stock, struct place *place)
{
	struct place was = *place;

	unlist(stock, place);
	place->stage = FREE;
	pthread_cond_broadcast(&stock->changed);
	return was;
}

/* Whether nobody has it, and no word of anybody's is still to be heard: who died without a HELLO recorded nothing. In this order. */
static bool is_abandoned(const struct ada_stock *stock, const struct place *place)
{
	return !ada_segment_in_use(&place->segment) && (!stock->recorder->server || !ada_server_busy(stock->recorder->server));
}

/* One that its taker left, or whose taker is gone; and the large one, where the program began with another. Under the lock, once a second. */
static bool is_of_no_use(const struct ada_stock *stock, struct place *place)
{
	if (place->number == FIRST && __atomic_load_n(&stock->recorder->pool_count, __ATOMIC_RELAXED) &&
	    state_change(place, ADA_READY_LIES))
		return true;
	if (state_change(place, ADA_READY_LEFT))
		return true;
	if (state_of(place) != ADA_READY_TAKEN)
		return false;
	if (place->agent_fd >= 0)
		close(place->agent_fd);
	place->agent_fd = -1;
	place->looks = is_abandoned(stock, place) ? place->looks + 1 : 0;
	return place->looks >= LOOKS && state_change(place, ADA_READY_TAKEN);
}

/* Called under the lock, which is let go meanwhile. */
static void sweep(struct ada_stock *stock)
{
	pthread_mutex_unlock(&stock->lock);
	ada_spares_tidy(&stock->spares, plenty(stock));
	pthread_mutex_lock(&stock->lock);
	for (size_t i = 0; i < ADA_READY_PLACES; i++) {
		struct place was;

		if (!is_of_no_use(stock, &stock->places[i]))
			continue;
		was = empty(stock, &stock->places[i]);
		pthread_mutex_unlock(&stock->lock);
		discard(stock, &was);
		pthread_mutex_lock(&stock->lock);
	}
}

/* A place for another segment, where more are wanted. */
static struct place *place_wanted(struct ada_stock *stock)
{
	struct place *place = NULL;
	size_t lying = 0;

	for (size_t i = 0; i < ADA_READY_PLACES; i++) {
		lying += state_of(&stock->places[i]) == ADA_READY_LIES;
		if (stock->places[i].stage == FREE)
			place = &stock->places[i];
	}
	return lying < stock->wanted ? place : NULL;
}

static void wait_for(struct ada_stock *stock, uint64_t ns)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += (time_t)((until.tv_nsec + ns) / SECOND_NS);
	until.tv_nsec = (long)((until.tv_nsec + ns) % SECOND_NS);
	pthread_cond_timedwait(&stock->changed, &stock->lock, &until);
}

static void *stock_fill(void *argument)
{
	struct ada_stock *stock = argument;
	uint64_t swept_ns = ada_clock_boottime_ns();

	sched_setscheduler(0, SCHED_BATCH, &(struct sched_param){ 0 }); /* this thread never takes the CPU from the one that wakes it */
	pthread_mutex_lock(&stock->lock);
	while (!stock->quit) {
		struct place *place = place_wanted(stock), made = { .stage = LISTED, .number = stock->last + 1 };
		uint64_t now_ns = ada_clock_boottime_ns();
		bool is_made;

		if (now_ns - swept_ns >= LOOK_AGAIN_S * SECOND_NS) {
			swept_ns = now_ns;
			sweep(stock);
			continue;
		}
		if (!place) {
			wait_for(stock, LOOK_AGAIN_S * SECOND_NS);
			continue;
		}
		pthread_mutex_unlock(&stock->lock);
		is_made = segment_make(stock, &made);
		pthread_mutex_lock(&stock->lock);
		if (is_made) {
			stock->last++;
			*place = made; /* nobody else fills places */
			list(stock, place);
		} else if (!stock->quit) {
			wait_for(stock, LOOK_AGAIN_S * SECOND_NS);
		}
	}
	pthread_mutex_unlock(&stock->lock);
	return NULL;
}

/* Whoever recovers what was taken and not heard of. */
static void note_layout(const struct ada_stock *stock)
{
	struct ada_arena_provider note;

	ada_arena_provider_of(&stock->options, &note);
	ada_arena_note_ready(stock->recorder->arena, &note);
}

int ada_stock_open(struct ada_stock **result, struct ada_recorder *recorder, struct ada_error *error)
{
	struct ada_stock *stock = calloc(1, sizeof *stock);
	int status;

	if (!stock)
		return ada_error_system(error, ENOMEM, "memory");
	stock->recorder = recorder;
	stock->options = ada_stock_options(recorder);
	stock->options.named = recorder->shared.named;
	stock->wanted = AT_START;
	note_layout(stock);
	ada_spares_open(&stock->spares, &recorder->shared);
	pthread_mutex_init(&stock->lock, NULL);
	pthread_cond_init(&stock->changed, NULL);
	status = pthread_create(&stock->thread, NULL, stock_fill, stock);
	if (status) {
		ada_spares_close(&stock->spares);
		free(stock);
		return ada_error_system(error, status, "no thread");
	}
	*result = stock;
	return 0;
}

bool ada_stock_wants(struct ada_stock *stock, const struct ada_segment *segment)
{
	return stock && ada_spares_want(&stock->spares, segment);
}

void ada_stock_give(struct ada_stock *stock, struct ada_segment *segment, uint32_t provider)
{
	ada_spares_give(&stock->spares, segment, provider);
}

/* --- who takes them ----------------------------------------------------------------------------------------------------- */

bool ada_stock_suits(const struct ada_stock *stock, const struct ada_segment_options *options)
{
	return stock && !options->scarce && !options->no_small && options->index_buffer_bytes == stock->options.index_buffer_bytes &&
	       options->detail_buffer_bytes == stock->options.detail_buffer_bytes;
}

int ada_stock_take(struct ada_stock *stock, const struct ada_segment_options *options, struct ada_segment *segment, int *agent_fd)
{
	struct ada_segment_options assigned = *options;
	struct place was = { .stage = FREE };
	int status;

	if (!ada_stock_suits(stock, options))
		return -ENOENT;
	pthread_mutex_lock(&stock->lock);
	for (size_t i = 0; i < ADA_READY_PLACES && was.stage == FREE; i++)
		if (state_change(&stock->places[i], ADA_READY_LIES))
			was = empty(stock, &stock->places[i]);
	pthread_mutex_unlock(&stock->lock);
	if (was.stage == FREE)
		return -ENOENT;
	assigned.ready = was.number;
	status = ada_segment_assign(&was.segment, &assigned);
	if (status) {
		discard(stock, &was);
		return status;
	}
	*segment = was.segment;
	*agent_fd = was.agent_fd;
	return 0;
}

static struct place *place_of(struct ada_stock *stock, uint32_t number)
{
	for (size_t i = 0; i < ADA_READY_PLACES; i++)
		if (stock->places[i].stage != FREE && stock->places[i].number == number)
			return &stock->places[i];
	return NULL;
}

int ada_stock_adopt(struct ada_stock *stock, uint32_t number, struct ada_segment *segment)
{
	struct place *place;
	int status = -ENOENT;

	if (!stock)
		return status;
	pthread_mutex_lock(&stock->lock);
	place = place_of(stock, number);
	if (stock->quit) {
		status = -ESHUTDOWN;
	} else if (place && state_change(place, ADA_READY_TAKEN)) {
		unlist(stock, place);
		if (place->agent_fd >= 0)
			close(place->agent_fd);
		*segment = place->segment;
		place->stage = ADOPTED;
		status = 0;
	}
	pthread_mutex_unlock(&stock->lock);
	return status;
}

static void stage_set(struct ada_stock *stock, uint32_t number, enum stage stage)
{
	struct place *place;

	if (!stock)
		return;
	pthread_mutex_lock(&stock->lock);
	place = place_of(stock, number);
	if (place && place->stage != LISTED)
		place->stage = stage;
	pthread_cond_broadcast(&stock->changed);
	pthread_mutex_unlock(&stock->lock);
}

void ada_stock_entered(struct ada_stock *stock, uint32_t number)
{
	stage_set(stock, number, ENTERED);
}

void ada_stock_done(struct ada_stock *stock, uint32_t number)
{
	stage_set(stock, number, FREE);
}

void ada_stock_await(struct ada_stock *stock, uint32_t number)
{
	uint64_t start_ns = ada_clock_boottime_ns();
	const struct place *place;

	if (!stock)
		return;
	pthread_mutex_lock(&stock->lock);
	while ((place = place_of(stock, number)) && place->stage != ENTERED && ada_clock_boottime_ns() - start_ns < AWAIT_NS)
		wait_for(stock, SLICE_NS);
	pthread_mutex_unlock(&stock->lock);
}

static bool is_on_its_way(const struct place *place)
{
	return place->stage == ADOPTED || place->stage == ENTERED || state_of(place) == ADA_READY_TAKEN;
}

void ada_stock_settle(struct ada_stock *stock)
{
	uint64_t start_ns = ada_clock_boottime_ns();
	uint32_t waits[ADA_READY_PLACES];
	size_t count = 0;

	if (!stock)
		return;
	pthread_mutex_lock(&stock->lock);
	__atomic_thread_fence(__ATOMIC_SEQ_CST); /* whoever takes one and isn't seen here sees the rules of now */
	for (size_t i = 0; i < ADA_READY_PLACES; i++)
		if (is_on_its_way(&stock->places[i]))
			waits[count++] = stock->places[i].number;
	while (count && ada_clock_boottime_ns() - start_ns < SETTLE_NS) {
		const struct place *place = place_of(stock, waits[count - 1]);

		if (place && is_on_its_way(place))
			wait_for(stock, SLICE_NS);
		else
			count--;
	}
	pthread_mutex_unlock(&stock->lock);
}

void ada_stock_refill(struct ada_stock *stock, bool forks)
{
	if (!stock)
		return;
	pthread_mutex_lock(&stock->lock);
	if (forks)
		stock->wanted = AT_MOST;
	pthread_cond_broadcast(&stock->changed);
	pthread_mutex_unlock(&stock->lock);
}

void ada_stock_rest(struct ada_stock *stock)
{
	if (!stock || stock->quit)
		return;
	pthread_mutex_lock(&stock->lock);
	stock->quit = true;
	pthread_cond_broadcast(&stock->changed);
	pthread_mutex_unlock(&stock->lock);
	pthread_join(stock->thread, NULL);
}

/* Nobody takes one any more. A process that has one and was not heard of yet is named if it has recorded anything. */
void ada_stock_end(struct ada_stock *stock)
{
	if (!stock)
		return;
	ada_stock_rest(stock);
	pthread_mutex_lock(&stock->lock);
	for (size_t i = 0; i < ADA_READY_PLACES; i++) {
		struct place *place = &stock->places[i];

		unlist(stock, place);
		if (state_change(place, ADA_READY_LIES) || !state_change(place, ADA_READY_TAKEN))
			continue;
		ada_segment_leave(&place->segment);
		if (ada_segment_threads_seen(&place->segment))
			ada_recorder_note_unrecorded(stock->recorder, (pid_t)place->segment.shm->pid, NULL,
						     "the recording had ended by then");
	}
	pthread_mutex_unlock(&stock->lock);
}

void ada_stock_close(struct ada_stock *stock)
{
	if (!stock)
		return;
	ada_stock_rest(stock);
	for (size_t i = 0; i < ADA_READY_PLACES; i++)
		if (stock->places[i].stage == LISTED) {
			struct place was = empty(stock, &stock->places[i]);

			state_change(&was, ADA_READY_LIES);
			discard(stock, &was);
		}
	ada_spares_close(&stock->spares);
	pthread_mutex_destroy(&stock->lock);
	pthread_cond_destroy(&stock->changed);
	free(stock);
}
