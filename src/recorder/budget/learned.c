#include "recorder/budget/learned.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/file.h"
#include "recorder/state/provider.h"

#define HEX_BYTES (2 * ADA_BUILD_ID_MAX + 1)
#define SHARE_MAX 1e6
#define FILE_EVENT_NS 20.0 /* the price of the shares in the file */

static bool hex_of(char hex[HEX_BYTES], const struct ada_plan *plan)
{
	const struct ada_plan_header *header = ada_plan_header(plan);

	*hex = 0;
	for (uint32_t i = 0; i < header->build_id_bytes && i < ADA_BUILD_ID_MAX; i++)
		snprintf(hex + 2 * i, 3, "%02x", header->build_id[i]);
	return *hex;
}

/* The file's name; false: the program has no build-id. */
static bool name_of(char name[HEX_BYTES], const struct ada_budget *budget)
{
	for (size_t id = 0; id < budget->text.modules.count; id++)
		if (budget->provider->segment.modules[id].flags & ADA_MODULE_MAIN && budget->text.modules.items[id].plan)
			return hex_of(name, budget->text.modules.items[id].plan);
	return false;
}

static size_t module_of(const struct ada_budget *budget, const char *hex)
{
	char own[HEX_BYTES];

	for (size_t id = 0; id < budget->text.modules.count; id++)
		if (budget->text.modules.items[id].plan && hex_of(own, budget->text.modules.items[id].plan) && !strcmp(own, hex))
			return id;
	return SIZE_MAX;
}

/* What a share is at the process's price that was reckoned with another. */
static double at_own_price(const struct ada_budget *budget, double share, double event_ns)
{
	return budget->decider.event_ns > 0 && event_ns > 0 ? share * budget->decider.event_ns / event_ns : share;
}

/* It goes out with what is to, as if it had been seen to cost so much. */
static void expect(struct ada_budget *budget, uint64_t function_id, double share)
{
	size_t position = ada_budget_line_of(budget, function_id);
	struct ada_budget_function *function;

	if (position == SIZE_MAX || !ada_budget_look_up(budget, position))
		return;
	function = &budget->functions.items[position];
	if (function->out || function->fixed)
		return;
	function->share = share > function->share ? share : function->share;
	budget->lines.items[position].expected = true;
}

/* Where the module's calls are counted from. */
static uint64_t calls_base(const struct ada_text_module *module)
{
	return module->base + ada_plan_header(module->plan)->address_start;
}

/* A server's processes make calls that the one which forks them doesn't: it can lead these past the hooks before the first is forked. */
static void expect_calls(struct ada_text *text, const struct ada_text_module *module, const char *calls)
{
	char *end;

	for (uint64_t behind = strtoull(calls, &end, 16); end > calls; behind = strtoull(calls, &end, 16)) {
		if (ada_array_push(&text->calls, calls_base(module) + behind))
			return; /* the others are found once they are made */
		calls = end;
	}
}

static void take_line(struct ada_budget *budget, const char *line, bool with_calls)
{
	const struct ada_text_module *module;
	char hex[HEX_BYTES];
	unsigned int symbol;
	int length;
	size_t id;
	double share;

	if (sscanf(line, "%64[0-9a-f] %u %lf%n", hex, &symbol, &share, &length) != 3 || !(share > 0 && share < SHARE_MAX))
		return;
	id = module_of(budget, hex);
	if (id == SIZE_MAX)
		return;
	module = &budget->text.modules.items[id];
	if (symbol >= ada_plan_header(module->plan)->function_count)
		return;
	if (with_calls)
		expect_calls(&budget->text, module, line + length);
	expect(budget, ADA_FUNCTION_ID(id, symbol), at_own_price(budget, share, FILE_EVENT_NS));
}

static int compare_calls(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

/* A fork's child has the calls from its parent. */
static void take_lines(struct ada_budget *budget, char *text)
{
	bool with_calls = !budget->text.calls.count;
	char *rest = NULL;

	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		take_line(budget, line, with_calls);
	if (with_calls && budget->text.calls.count)
		qsort(budget->text.calls.items, budget->text.calls.count, sizeof *budget->text.calls.items, compare_calls);
}

/* Are modules' numbers the same in both? So they are where both are copies of one process. */
static bool share_module(const struct ada_budget *budget, const struct ada_budget *relative, uint64_t function_id)
{
	uint32_t id = ADA_FUNCTION_MODULE(function_id);

	return id < budget->text.modules.count && id < relative->text.modules.count &&
	       budget->text.modules.items[id].plan == relative->text.modules.items[id].plan;
}

static bool lies_alike(const struct ada_budget *budget, const struct ada_budget *relative, uint64_t function_id)
{
	uint32_t id = ADA_FUNCTION_MODULE(function_id);

	return share_module(budget, relative, function_id) && budget->text.modules.items[id].base == relative->text.modules.items[id].base;
}

/* What that process has out. */
static void take_relative(struct ada_budget *budget, const struct ada_budget *relative)
{
	for (size_t i = 0; i < relative->lines.count; i++) {
		uint64_t function_id = relative->lines.items[i].function_id;

		if (relative->functions.items[i].out && share_module(budget, relative, function_id))
			expect(budget, function_id, at_own_price(budget, relative->functions.items[i].share, relative->decider.event_ns));
	}
}

/* The parent, what it forked besides, and the process's own children. */
static void take_family(struct ada_budget *budget)
{
	const struct ada_provider *own = budget->provider, *other;

	for (size_t i = 0; (other = ada_provider_at(own->recorder, i)); i++)
		if (other != own && other->budget &&
		    (other == own->parent || other->parent == own || (own->parent && other->parent == own->parent)))
			take_relative(budget, other->budget);
}

/* What the child has out, or is to let go of as soon as there is time for it, goes out, and stays out for a pause from now on. What a window
 * of the child's names stays in. */
static void take_heir(struct ada_budget *budget, const struct ada_budget *child, size_t i, uint64_t now_ns)
{
	const struct ada_budget_line *from = &child->lines.items[i];
	const struct ada_budget_function *known = &child->functions.items[i];
	size_t position = ada_budget_line_of(budget, from->function_id);
	struct ada_budget_function *function;
	struct ada_budget_line *line;
	double share;

	if (position == SIZE_MAX)
		return;
	line = &budget->lines.items[position];
	if (from->on_path && !line->on_path) {
		line->on_path = true;
		line->looked_for = false;
		ada_budget_look_up(budget, position);
	}
	if (from->on_path || known->fixed)
		return;
	/* It will know more calls than this process makes. */
	if (ada_budget_lacks_words(child, i) && !child->provider->ended)
		return;
	if (from->mute && child->provider->mutes.items[from->mute - 1].calls_a_second > 0) /* not a child that let go of it unseen */
		line->calls_a_second = child->provider->mutes.items[from->mute - 1].calls_a_second;
	function = &budget->functions.items[position];
	if (!line->fixed && lies_alike(budget, child, from->function_id)) { /* it makes calls that this process doesn't */
		if (!line->found)
			ada_budget_copy_words(line, from);
		else if (function->out && known->out)
			ada_budget_merge_words(line, from, &budget->text);
	}
	share = at_own_price(budget, known->share, child->decider.event_ns);
	if (!function->out) {
		expect(budget, from->function_id, share);
		return;
	}
	ada_decide_stays(function, now_ns);
	function->share = share > function->share ? share : function->share;
}

static void take_heirs(struct ada_budget *budget, const struct ada_budget *child, uint64_t now_ns)
{
	ada_text_remember(&budget->text);
	for (size_t i = 0; i < child->lines.count; i++)
		if ((child->functions.items[i].out || child->lines.items[i].expected || child->lines.items[i].on_path) &&
		    share_module(budget, child, child->lines.items[i].function_id))
			take_heir(budget, child, i, now_ns);
	ada_text_forget(&budget->text);
}

static struct ada_budget *parent_of(const struct ada_budget *child)
{
	struct ada_provider *parent = child->provider->parent;

	return parent && parent->budget && parent->budget->children > 1 ? parent->budget : NULL;
}

void ada_learned_tell_parent(const struct ada_budget *child)
{
	struct ada_budget *parent = parent_of(child);

	if (parent)
		parent->heirs_changed = true;
}

void ada_learned_leave_to_parent(const struct ada_budget *child, uint64_t now_ns)
{
	struct ada_budget *parent = parent_of(child);

	if (!parent)
		return;
	take_heirs(parent, child, now_ns);
	parent->heirs_changed = true;
}

void ada_learned_follow_children(struct ada_budget *budget, uint64_t now_ns)
{
	const struct ada_provider *own = budget->provider, *other;

	budget->heirs_changed = false;
	for (size_t i = 0; budget->children > 1 && (other = ada_provider_at(own->recorder, i)); i++)
		if (other->parent == own && other->budget)
			take_heirs(budget, other->budget, now_ns);
}

void ada_learned_take(struct ada_budget *budget)
{
	int directory = budget->provider->recorder->options->budget_forget ? -1 : ada_plan_cache("budget"), fd;
	char name[HEX_BYTES], *text = NULL;
	size_t length;

	budget->learnt = true;
	take_family(budget);
	fd = directory >= 0 && name_of(name, budget) ? openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1;
	if (fd >= 0 && !ada_file_read_fd(fd, &text, &length))
		take_lines(budget, text);
	free(text);
	if (fd >= 0)
		close(fd);
	if (directory >= 0)
		close(directory);
}

static void put_calls(const struct ada_words *words, const struct ada_text_module *module, FILE *file)
{
	for (size_t i = 0; i < words->items.count; i++)
		if (ada_word_is_call(&words->items.items[i]))
			fprintf(file, " %" PRIx64, words->items.items[i].at + sizeof(int32_t) - calls_base(module));
}

/* Without what seemed dear for being called at a first look, which was a short one. */
static void put_lines(const struct ada_budget *budget, FILE *file)
{
	double trifle = ada_decide_trifle(budget->provider->recorder->options->budget, budget->functions.items, budget->functions.count);
	double at_files_price = budget->decider.event_ns > 0 ? FILE_EVENT_NS / budget->decider.event_ns : 1;
	char hex[HEX_BYTES];

	for (size_t i = 0; i < budget->lines.count; i++) {
		uint64_t function_id = budget->lines.items[i].function_id;
		uint32_t id = ADA_FUNCTION_MODULE(function_id);

		if (budget->functions.items[i].out && budget->functions.items[i].share > trifle && id < budget->text.modules.count &&
		    budget->text.modules.items[id].plan && hex_of(hex, budget->text.modules.items[id].plan)) {
			fprintf(file, "%s %u %.6g", hex, ADA_FUNCTION_SYMBOL(function_id),
				budget->functions.items[i].share * at_files_price);
			put_calls(&budget->lines.items[i].words, &budget->text.modules.items[id], file);
			fputc('\n', file);
		}
	}
}

/* A run that stayed within its budget says nothing of what others cost. */
void ada_learned_keep(struct ada_budget *budget)
{
	int directory = budget->learnt ? ada_plan_cache("budget") : -1;
	char name[HEX_BYTES], *text = NULL;
	size_t length = 0;
	FILE *file;

	if (directory < 0)
		return;
	file = name_of(name, budget) ? open_memstream(&text, &length) : NULL;
	if (file) {
		put_lines(budget, file);
		if (!fclose(file))
			ada_file_replace_at(directory, name, text, length, false); /* without it the next run learns anew */
	}
	free(text);
	close(directory);
}
