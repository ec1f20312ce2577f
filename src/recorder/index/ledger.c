#include "recorder/index/ledger.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define MODULES_MAX 65536u /* an agent's word: what lies beyond isn't counted */
#define FUNCTIONS_MAX (1u << 22)
#define SHORTS_LEAST 1000u
#define ROWS_LOOKED_AT 1000u
#define SMALL_GROWS 16u	   /* what small functions show is found anew once so small a part more was counted, */
#define SMALL_MOST 262144u /* or so many */
#define LEAVES_PART 64u	   /* one call in so many may have called something all the same */
#define EVENT_FACTOR 1.15  /* what an event takes beside what its call's duration shows: found as 1.08 to 1.26 (docs/inside/budget.md) */

static struct ada_ledger_function *find(struct ada_ledger *ledger, uint64_t id)
{
	uint32_t number = ADA_FUNCTION_MODULE(id), symbol = ADA_FUNCTION_SYMBOL(id);
	struct ada_ledger_module *module;

	if (number >= MODULES_MAX || symbol >= FUNCTIONS_MAX)
		return NULL;
	while (ledger->modules.count <= number)
		if (ada_array_push(&ledger->modules, (struct ada_ledger_module){ 0 }))
			return NULL;
	module = &ledger->modules.items[number];
	if (module->places.count <= symbol) {
		size_t more = symbol + 1 - module->places.count;

		if (ada_array_reserve(&module->places, more))
			return NULL;
		memset(module->places.items + module->places.count, 0, more * sizeof *module->places.items);
		module->places.count += more;
	}
	if (!module->places.items[symbol]) {
		if (ada_array_push(&ledger->functions, (struct ada_ledger_function){ .function_id = id }))
			return NULL;
		module->places.items[symbol] = (uint32_t)ledger->functions.count;
	}
	return &ledger->functions.items[module->places.items[symbol] - 1];
}

static bool is_counted(const struct ada_event *event)
{
	return event->event_kind >= ADA_EVENT_CALL && event->event_kind <= ADA_EVENT_EXCEPTION;
}

static void count_batch(struct ada_ledger *ledger, const struct ada_event *events, size_t count, uint64_t weight)
{
	struct ada_ledger_function *function = NULL;
	uint64_t last = 0;

	for (size_t i = 0; i < count; i++) {
		if (events[i].event_kind == ADA_EVENT_OBJECT || events[i].event_kind == ADA_EVENT_HOLDER) {
			ledger->objects += weight;
			if (function)
				function->objects += weight;
		}
		if (!is_counted(&events[i]))
			continue;
		if (!function || events[i].function_id != last)
			function = find(ledger, events[i].function_id);
		last = events[i].function_id;
		if (!function)
			continue;
		function->events += weight;
		ledger->counted += weight;
		if (events[i].event_kind == ADA_EVENT_RETURN && i && events[i - 1].event_kind == ADA_EVENT_CALL &&
		    events[i - 1].function_id == last) {
			uint64_t ns = events[i].timestamp_ns - events[i - 1].timestamp_ns;

			function->leaves += weight;
			if (ns < ADA_LEDGER_SHORT_NS) {
				function->shorts += weight;
				function->short_ns += weight * ns;
				function->lately.shorts += weight;
				function->lately.ns += weight * ns;
			}
		}
	}
}

void ada_ledger_take(struct ada_ledger *ledger, const struct ada_event *events, size_t count)
{
	bool whole = ledger->events < ADA_LEDGER_WHOLE || ledger->events < ledger->whole_until;

	ledger->events += count;
	if (!whole && ++ledger->skipped < ADA_LEDGER_STEP)
		return;
	ledger->skipped = 0;
	count_batch(ledger, events, count, whole ? 1 : ADA_LEDGER_STEP);
}

/* As long as a call of the program's shortest function lasts, from one hook's clock to the other's, which is half of what two hooks take,
 * and a body of next to no length. So the price is that of this program, with all that is recorded of an event. It is the least mean of
 * short calls of any function that has enough of them; 0: none has. */
static double shown_ns(const struct ada_ledger *ledger)
{
	double least = 0;

	for (size_t i = 0; i < ledger->functions.count; i++) {
		const struct ada_ledger_function *function = &ledger->functions.items[i];
		double mean = function->shorts >= SHORTS_LEAST ? (double)function->short_ns / (double)function->shorts : 0;

		if (mean > 0 && (least <= 0 || mean < least))
			least = mean;
	}
	return least;
}

void ada_ledger_size_up(struct ada_ledger *ledger, bool (*is_small)(const void *context, uint64_t function_id), const void *context)
{
	for (; ledger->sized_up < ledger->functions.count; ledger->sized_up++) {
		struct ada_ledger_function *function = &ledger->functions.items[ledger->sized_up];

		function->small = is_small(context, function->function_id);
		ledger->small_counted = 0;
	}
}

struct mean {
	double ns;
	uint64_t calls;
};

static int compare_means(const void *left, const void *right)
{
	const struct mean *a = left, *b = right;

	return (a->ns > b->ns) - (a->ns < b->ns);
}

static bool calls_nothing(const struct ada_ledger_function *function)
{
	return function->leaves * 2 >= function->events - function->events / LEAVES_PART;
}

/* Half of what was seen by now, so that what follows soon outweighs it. */
static void forget_half(struct ada_ledger *ledger)
{
	for (size_t i = 0; i < ledger->functions.count; i++) {
		struct ada_ledger_lately *lately = &ledger->functions.items[i].lately;
		uint64_t half = lately->shorts / 2;

		*lately = (struct ada_ledger_lately){ half, half ? lately->ns * half / lately->shorts : 0 };
	}
}

/* A mean of all would be misled by a function whose callee is muted. */
static double small_now_ns(struct ada_ledger *ledger)
{
	struct mean *means = ledger->functions.count ? malloc(ledger->functions.count * sizeof *means) : NULL;
	uint64_t calls = 0, below = 0;
	size_t count = 0, middle = 0;
	double ns = ledger->small_ns;

	for (size_t i = 0; means && i < ledger->functions.count; i++) {
		const struct ada_ledger_function *function = &ledger->functions.items[i];
		const struct ada_ledger_lately *lately = &function->lately;

		if (!function->small || !lately->shorts || !calls_nothing(function))
			continue;
		means[count++] = (struct mean){ (double)lately->ns / (double)lately->shorts, lately->shorts };
		calls += lately->shorts;
	}
	if (calls >= SHORTS_LEAST) {
		qsort(means, count, sizeof *means, compare_means);
		while ((below += means[middle].calls) < calls / 2)
			middle++;
		ns = means[middle].ns * EVENT_FACTOR;
	}
	if (calls >= 2 * SHORTS_LEAST)
		forget_half(ledger);
	free(means);
	return ns;
}

double ada_ledger_small_ns(struct ada_ledger *ledger)
{
	uint64_t grows = ledger->small_counted / SMALL_GROWS;

	if (ledger->counted - ledger->small_counted > (grows < SMALL_MOST ? grows : SMALL_MOST)) {
		ledger->small_ns = small_now_ns(ledger);
		ledger->small_counted = ledger->counted;
	}
	return ledger->small_ns;
}

struct ada_price ada_ledger_price(const struct ada_ledger *ledger, const struct ada_price *measured)
{
	struct ada_price price = { .event_ns = shown_ns(ledger) * EVENT_FACTOR };

	price.event_ns = price.event_ns > measured->event_ns ? price.event_ns : measured->event_ns;
	price.object_ns = price.event_ns;
	if (measured->event_ns > 0 && measured->object_ns > measured->event_ns)
		price.object_ns = measured->object_ns * price.event_ns / measured->event_ns;
	return price;
}

static int compare(const void *left, const void *right)
{
	const struct ada_ledger_function *a = left, *b = right;

	if (a->events != b->events)
		return a->events < b->events ? 1 : -1;
	return (a->function_id > b->function_id) - (a->function_id < b->function_id);
}

size_t ada_ledger_dearest(const struct ada_ledger *ledger, struct ada_ledger_function *rows, size_t most)
{
	size_t count = ledger->functions.count, bytes = count * sizeof *rows;
	struct ada_ledger_function *all = count ? malloc(bytes) : NULL;

	if (!all)
		return 0; /* none, or no memory: a ledger is no reason to fail */
	memcpy(all, ledger->functions.items, bytes);
	qsort(all, count, sizeof *all, compare);
	memcpy(rows, all, (count < most ? count : most) * sizeof *rows);
	free(all);
	return count;
}

size_t ada_ledger_functions_of_most(const struct ada_ledger *ledger)
{
	struct ada_ledger_function rows[ROWS_LOOKED_AT];
	size_t count = ada_ledger_dearest(ledger, rows, ROWS_LOOKED_AT);
	uint64_t events = 0;

	for (size_t i = 0; i < count && i < ROWS_LOOKED_AT; i++) {
		events += rows[i].events;
		if (events * 100 >= ledger->counted * ADA_LEDGER_MOST)
			return i + 1;
	}
	return 0;
}

void ada_ledger_news(struct ada_ledger *ledger, void (*tell)(void *context, uint64_t function_id, const struct ada_ledger_seen *news),
		     void *context)
{
	for (size_t i = 0; i < ledger->functions.count; i++) {
		struct ada_ledger_function *function = &ledger->functions.items[i];
		const struct ada_ledger_seen now = { function->events, function->leaves, function->objects },
					     news = { now.events - function->seen.events, now.leaves - function->seen.leaves,
						      now.objects - function->seen.objects };

		if (!news.events)
			continue;
		if (tell)
			tell(context, function->function_id, &news);
		function->seen = now;
	}
	ledger->whole_until = ledger->events + ADA_LEDGER_ANEW;
}

void ada_ledger_free(struct ada_ledger *ledger)
{
	for (size_t i = 0; i < ledger->modules.count; i++)
		ada_array_free(&ledger->modules.items[i].places);
	ada_array_free(&ledger->modules);
	ada_array_free(&ledger->functions);
}
