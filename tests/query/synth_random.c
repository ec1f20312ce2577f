/* Random sessions with known answers. */
#include "synth_random.h"
#include <stdlib.h>

#define PROGRAM_FUNCTIONS 16 /* the rest is the library's */
#define DEPTH_MAX 60

static const char *const all_names[KNOWN_FUNCTIONS] = { "main",	   "run",    "parse",	"walk",	  "hash",
							"lookup",  "insert", "compare", "render", "draw",
							"encode",  "decode", "flush",	"poll",	  "ns::Thing::update(int)",
							"recurse", "malloc", "free",	"memcpy", "read",
							"write",   "strlen", "qsort",	"lock" };

struct generator {
	struct known *known;
	struct synth_thread *thread;
	uint64_t state, ns;
	uint32_t number, modules[2];
	size_t open[DEPTH_MAX + 1];
	unsigned int depth;
};

static uint64_t draw(uint64_t *state) /* splitmix64 */
{
	uint64_t value = *state += 0x9e3779b97f4a7c15u;

	value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9u;
	value = (value ^ value >> 27) * 0x94d049bb133111ebu;
	return value ^ value >> 31;
}

static uint64_t below(struct generator *generator, uint64_t limit)
{
	return draw(&generator->state) % limit;
}

/* Now nothing, often little, rarely up to 16 ms. */
static void pass(struct generator *generator)
{
	uint64_t ns = draw(&generator->state) >> (40 + below(generator, 24));

	synth_pass(generator->thread, ns);
	generator->ns += ns;
}

static void note_event(struct generator *generator)
{
	if (ada_array_push(&generator->known->times, generator->ns))
		abort();
	generator->known->thread_events[generator->number]++;
}

static void begin(struct generator *generator, uint32_t function)
{
	struct known *known = generator->known;
	bool library = function >= PROGRAM_FUNCTIONS;

	generator->open[generator->depth] = known->calls.count;
	if (ada_array_push(&known->calls,
			   (struct known_call){ .start_ns = generator->ns,
						.thread = generator->number,
						.function = function,
						.parent = generator->depth ? generator->open[generator->depth - 1] : KNOWN_NONE }))
		abort();
	generator->depth++;
	synth_call(generator->thread, ADA_FUNCTION_ID(generator->modules[library], function - (library ? PROGRAM_FUNCTIONS : 0)));
	note_event(generator);
}

static void settle(struct generator *generator)
{
	struct known_call *call = &generator->known->calls.items[generator->open[--generator->depth]];

	call->end_ns = generator->ns;
	if (call->parent != KNOWN_NONE)
		generator->known->calls.items[call->parent].children_ns += call->end_ns - call->start_ns;
}

static void end(struct generator *generator, bool exception)
{
	settle(generator);
	if (exception)
		synth_exception(generator->thread);
	else
		synth_return(generator->thread);
	note_event(generator);
}

static uint32_t choose(struct generator *generator)
{
	uint32_t top = generator->depth ? generator->known->calls.items[generator->open[generator->depth - 1]].function : 0;

	if (!generator->depth)
		return (uint32_t)below(generator, 3);
	return below(generator, 8) ? 1 + (uint32_t)below(generator, KNOWN_FUNCTIONS - 1) : top;
}

static void run_thread(struct generator *generator, uint64_t events)
{
	uint64_t done, segment = events / 3 + 2;
	unsigned int bottom = (unsigned int)below(generator, 4), lean = 2;

	pass(generator);
	for (done = 0; done + generator->depth < events; done++) {
		if (done && done % segment == 0)
			synth_roll(generator->thread);
		if (done % 64 == 0)
			lean = 1 + (unsigned int)below(generator, 4); /* up in one stretch, down in another */
		if (generator->depth <= (generator->depth < done ? bottom : 0) ||
		    (generator->depth < DEPTH_MAX && below(generator, 5) < lean))
			begin(generator, choose(generator));
		else
			end(generator, !below(generator, 16));
		pass(generator);
	}
	/* Some threads end inside their calls. */
	while (generator->depth && below(generator, 32)) {
		end(generator, false);
		if (generator->depth)
			pass(generator);
	}
	generator->depth = 0;
}

/* Those that are open last until their process ends. Inner ones stand behind the calls around them. */
static void settle_open(struct known *known, uint32_t threads)
{
	uint32_t second = (threads + 2) / 2; /* the first thread of the second process */
	uint64_t ends[2] = { SYNTH_END_NS, SYNTH_END_NS }, at = 0;

	for (uint32_t i = 0; i < known->threads; i++) {
		uint64_t *end_ns = &ends[i >= second], last_ns;

		at += known->thread_events[i];
		last_ns = at ? known->times.items[at - 1] : 0;
		*end_ns = last_ns > *end_ns ? last_ns : *end_ns;
	}
	for (size_t i = known->calls.count; i-- > 0;) {
		struct known_call *call = &known->calls.items[i];

		if (call->end_ns)
			continue;
		call->end_ns = ends[call->thread >= second];
		if (call->parent != KNOWN_NONE)
			known->calls.items[call->parent].children_ns += call->end_ns - call->start_ns;
	}
}

struct known *synth_random(struct synth *synth, uint64_t seed, uint32_t threads, uint64_t events)
{
	struct generator generator = { .known = calloc(1, sizeof *generator.known), .state = seed };
	uint64_t left = events;

	if (!generator.known || threads > SYNTH_THREADS_MAX)
		abort();
	for (uint32_t i = 0; i < threads; i++) {
		uint64_t share = 2 + (i + 1 < threads ? below(&generator, 2 * left / (threads - i) + 1) : left);

		if (i == 0 || i == (threads + 2) / 2) { /* a second process from the middle on, of two threads or more */
			synth_process(synth, 1000 + i);
			generator.modules[0] = synth_module(synth, "/usr/bin/random", all_names, PROGRAM_FUNCTIONS);
			generator.modules[1] = synth_module(synth, "/usr/lib/librandom.so", all_names + PROGRAM_FUNCTIONS,
							    KNOWN_FUNCTIONS - PROGRAM_FUNCTIONS);
		}
		left -= share < left ? share : left;
		generator.number = i;
		generator.ns = SYNTH_START_NS;
		generator.thread = synth_thread(synth, 1000 + i, i ? "worker" : "main");
		run_thread(&generator, share);
	}
	generator.known->threads = threads;
	settle_open(generator.known, threads);
	return generator.known;
}

/* --- answers ------------------------------------------------------------------------------------------------------------ */

const char *known_name(uint32_t function)
{
	return all_names[function];
}

static bool is_asked(const struct known_call *call, uint32_t function, uint32_t thread, uint64_t from_ns, uint64_t to_ns)
{
	return call->function == function && (thread == UINT32_MAX || call->thread == thread) && call->start_ns >= from_ns &&
	       call->start_ns < to_ns;
}

static int compare(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

struct known_function known_function(const struct known *known, uint32_t function, uint32_t thread, uint64_t from_ns, uint64_t to_ns)
{
	struct known_function sum = {};

	for (size_t i = 0; i < known->calls.count; i++) {
		const struct known_call *call = &known->calls.items[i];
		bool outermost = true;

		if (!is_asked(call, function, thread, from_ns, to_ns))
			continue;
		/* Of calls that count, that is: one begun before the time asked for is none. */
		for (size_t above = call->parent; above != KNOWN_NONE && outermost; above = known->calls.items[above].parent)
			outermost = !is_asked(&known->calls.items[above], function, thread, from_ns, to_ns);
		sum.calls++;
		sum.sum_ns += call->end_ns - call->start_ns;
		sum.self_ns += call->end_ns - call->start_ns - call->children_ns;
		if (outermost)
			sum.total_ns += call->end_ns - call->start_ns;
		if (ada_array_push(&sum.durations, call->end_ns - call->start_ns))
			abort();
	}
	if (sum.calls)
		qsort(sum.durations.items, sum.durations.count, sizeof *sum.durations.items, compare);
	return sum;
}

uint64_t known_percentile(const struct known_function *function, unsigned int permille)
{
	uint64_t rank = (function->calls * permille + 999) / 1000;

	return function->durations.items[rank ? rank - 1 : 0];
}

uint64_t known_edge(const struct known *known, uint32_t caller, uint32_t callee)
{
	uint64_t calls = 0;

	for (size_t i = 0; i < known->calls.count; i++) {
		const struct known_call *call = &known->calls.items[i];
		uint32_t by = call->parent == KNOWN_NONE ? KNOWN_FUNCTIONS : known->calls.items[call->parent].function;

		calls += call->function == callee && by == caller;
	}
	return calls;
}

static void print_functions(const struct known *known, FILE *file)
{
	const char *separator = "";

	for (uint32_t i = 0; i < KNOWN_FUNCTIONS; i++) {
		struct known_function function = known_function(known, i, UINT32_MAX, 0, UINT64_MAX);

		if (!function.calls)
			continue;
		fprintf(file,
			"%s\n  \"%s\": {\"module\": \"%s\", \"calls\": %lu, \"total_ns\": %lu, \"self_ns\": %lu, \"sum_ns\": %lu, "
			"\"min_ns\": %lu, \"max_ns\": %lu, \"p50_ns\": %lu, \"p90_ns\": %lu, \"p99_ns\": %lu}",
			separator, known_name(i), i < PROGRAM_FUNCTIONS ? "/usr/bin/random" : "/usr/lib/librandom.so", function.calls,
			function.total_ns, function.self_ns, function.sum_ns, function.durations.items[0],
			function.durations.items[function.calls - 1], known_percentile(&function, 500), known_percentile(&function, 900),
			known_percentile(&function, 990));
		separator = ",";
		ada_array_free(&function.durations);
	}
}

void known_print(const struct known *known, FILE *file)
{
	const char *separator = "";

	fprintf(file, "{\"events\": %zu, \"threads\": [", known->times.count);
	for (uint32_t i = 0; i < known->threads; i++)
		fprintf(file, "%s%lu", i ? ", " : "", known->thread_events[i]);
	fputs("],\n\"functions\": {", file);
	print_functions(known, file);
	fputs("},\n\"edges\": [", file);
	for (uint32_t caller = 0; caller <= KNOWN_FUNCTIONS; caller++)
		for (uint32_t callee = 0; callee < KNOWN_FUNCTIONS; callee++) {
			uint64_t calls = known_edge(known, caller, callee);

			if (!calls)
				continue;
			fprintf(file, caller < KNOWN_FUNCTIONS ? "%s\n  {\"caller\": \"%s\", " : "%s\n  {\"caller\": null, ", separator,
				caller < KNOWN_FUNCTIONS ? known_name(caller) : "");
			fprintf(file, "\"callee\": \"%s\", \"calls\": %lu}", known_name(callee), calls);
			separator = ",";
		}
	fputs("]}\n", file);
}

void known_free(struct known *known)
{
	ada_array_free(&known->calls);
	ada_array_free(&known->times);
	free(known);
}
