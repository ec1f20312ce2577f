/* getopt knows what is wrong with an option, and keeps it to itself (options.c has it so, for its own message knows no nearest name): its
 * few rules are applied once more to the word at which it stopped. */
#include "cli/ground/bad_option.h"
#include <stdio.h>
#include <string.h>
#include "cli/ground/options.h"
#include "trigger/trigger.h"

#define FITTING_MAX 8

/* The options that a name may be short for. */
struct fitting {
	const struct argp_option *items[FITTING_MAX];
	size_t count;
	bool whole; /* the first is of just that name */
};

/* Calls `take` with each option that there is, also those that a short help leaves out. */
static void for_each_option(const struct argp *argp, void (*take)(void *context, const struct argp_option *option), void *context)
{
	for (const struct argp_option *option = argp->options; option && (option->name || option->key); option++)
		if (!(option->flags & OPTION_DOC))
			take(context, option);
	for (const struct argp_child *child = argp->children; child && child->argp; child++)
		for_each_option(child->argp, take, context);
}

struct search {
	const char *name; /* of `length` bytes; NULL: by letter */
	size_t length;
	char letter;
	const char *meant; /* of a letter: the word that it stands in, without the dash; it may be a name that lacks the second one */
	struct fitting found;
};

static void take_fitting(void *context, const struct argp_option *option)
{
	struct search *search = context;
	struct fitting *found = &search->found;

	if (found->whole ||
	    (search->name ? !option->name || strncmp(option->name, search->name, search->length) : option->key != search->letter))
		return;
	found->whole = !search->name || !option->name[search->length];
	if (found->whole)
		found->count = 0;
	if (found->count < FITTING_MAX)
		found->items[found->count++] = option;
}

static void offer(void *nearest, const struct argp_option *option)
{
	if (option->name)
		ada_nearest_offer(nearest, option->name);
}

static void fail_unknown(const struct argp *argp, const char *command, const char *word, struct search *search)
{
	char name[64], near[256] = "";
	struct ada_nearest *nearest;

	snprintf(name, sizeof name, "%.*s", (int)strcspn(search->name ?: search->meant, "="), search->name ?: search->meant);
	if (search->name || strlen(name) > 1) {
		nearest = ada_nearest_open(name);
		for_each_option(argp, offer, nearest);
		ada_nearest_text(nearest, near, sizeof near);
		ada_nearest_close(nearest);
	}
	if (*near)
		ada_options_fail(command, "unknown option '%s': did you mean --%s?", word, near);
	ada_options_fail(command, "unknown option '%s': `%s --help` lists them", word, command);
}

static void fail_ambiguous(const char *command, const char *word, const struct fitting *found)
{
	char names[FITTING_MAX * 32] = "";
	size_t used = 0;

	for (size_t i = 0; i < found->count && used < sizeof names; i++)
		used += (size_t)snprintf(names + used, sizeof names - used, "%s--%s",
					 !i		       ? "" :
					 i + 1 == found->count ? " or " :
								 ", ",
					 found->items[i]->name);
	ada_options_fail(command, "'%s' is short for several: %s", word, names);
}

/* Returns where nothing is wrong with it. `value`: what is given with it; `last`: no word follows that could be its value. */
static void check(const struct argp *argp, const char *command, const char *word, struct search *search, const char *value, bool last)
{
	const struct argp_option *option;

	for_each_option(argp, take_fitting, search);
	option = search->found.items[0];
	if (!search->found.count)
		fail_unknown(argp, command, word, search);
	if (search->found.count > 1)
		fail_ambiguous(command, word, &search->found);
	if (search->name && value && !option->arg)
		ada_options_fail(command, "--%s takes no value, not even '%s'", option->name, value);
	if (!value && option->arg && !(option->flags & OPTION_ARG_OPTIONAL) && last)
		ada_options_fail(command, "--%s wants a value: --%s=%s", option->name, option->name, option->arg);
}

static void check_word(const struct argp *argp, const char *command, const char *word, bool last)
{
	struct search search = { 0 };
	const char *value;

	if (!strncmp(word, "--", 2)) {
		value = strchr(word, '=');
		search.name = word + 2;
		search.length = value ? (size_t)(value - search.name) : strlen(search.name);
		check(argp, command, word, &search, value ? value + 1 : NULL, last);
		return;
	}
	for (const char *letter = *word == '-' ? word + 1 : ""; *letter; letter++) {
		char shown[] = { '-', *letter, 0 };

		search = (struct search){ .letter = *letter, .meant = word + 1 };
		check(argp, command, shown, &search, letter[1] ? letter + 1 : NULL, last);
		if (search.found.items[0]->arg)
			return;
	}
}

void ada_bad_option_fail(const struct argp *argp, char **argv, int next)
{
	check_word(argp, argv[0], argv[next - 1], !argv[next]);
	/* Of letters behind one dash getopt goes on within the word. */
	if (argv[next])
		check_word(argp, argv[0], argv[next], !argv[next + 1]);
	ada_options_fail(argv[0], "bad option: `%s --help` lists them", argv[0]);
}
