/* The nearest of many names, by edits of one character (also two swapped). Each name offered costs little: nothing is computed where its
 * length alone puts it farther away than the names held, and the first row that is too far ends the computation. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "trigger/trigger.h"

#define KEPT 3
#define LENGTH_MAX 63	   /* of what is compared */
#define NAME_MAX_SHOWN 127 /* of what is offered */

struct ada_nearest {
	char wanted[LENGTH_MAX + 1];
	size_t length;
	unsigned farthest; /* no name farther than this is near */
	size_t count;
	struct {
		unsigned distance;
		char name[NAME_MAX_SHOWN + 1];
	} kept[KEPT];
};

struct ada_nearest *ada_nearest_open(const char *wanted)
{
	struct ada_nearest *nearest = calloc(1, sizeof *nearest);

	if (!nearest)
		return NULL;
	nearest->length = strnlen(wanted, LENGTH_MAX);
	memcpy(nearest->wanted, wanted, nearest->length);
	nearest->farthest = nearest->length < 6 ? 1 : nearest->length < 10 ? 2 : 3;
	return nearest;
}

static unsigned least_of(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* Damerau's distance of neighbours, case counting nothing where all else agrees; more than `limit`: limit + 1. */
static unsigned distance(const char *a, size_t a_length, const char *b, size_t b_length, unsigned limit)
{
	unsigned rows[3][LENGTH_MAX + 2];

	for (size_t j = 0; j <= b_length; j++)
		rows[0][j] = (unsigned)j;
	for (size_t i = 1; i <= a_length; i++) {
		unsigned *row = rows[i % 3], *above = rows[(i + 2) % 3], *before = rows[(i + 1) % 3], best = (unsigned)i;

		row[0] = (unsigned)i;
		for (size_t j = 1; j <= b_length; j++) {
			bool same = tolower((unsigned char)a[i - 1]) == tolower((unsigned char)b[j - 1]);

			row[j] = least_of(least_of(above[j], row[j - 1]) + 1, above[j - 1] + !same);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = least_of(row[j], before[j - 2] + 1);
			best = least_of(best, row[j]);
		}
		if (best > limit + 1)
			return limit + 1;
	}
	return least_of(rows[a_length % 3][b_length], limit + 1);
}

/* Text of which parts are compared. */
struct part {
	const char *at;
	size_t length;
};

static struct part all_wanted(const struct ada_nearest *nearest)
{
	return (struct part){ nearest->wanted, nearest->length };
}

/* Offers `name` for what a part of it is beside a part of what was wanted. */
static void offer_for(struct ada_nearest *nearest, const char *name, struct part own, struct part wanted)
{
	unsigned far, limit;
	size_t at;

	if (!own.length || own.length > LENGTH_MAX || strnlen(name, NAME_MAX_SHOWN + 1) > NAME_MAX_SHOWN)
		return;
	limit = nearest->count == KEPT ? nearest->kept[KEPT - 1].distance : nearest->farthest;
	far = (unsigned)(own.length > wanted.length ? own.length - wanted.length : wanted.length - own.length);
	if (far > limit)
		return;
	far = distance(wanted.at, wanted.length, own.at, own.length, limit);
	if (far > nearest->farthest || (nearest->count == KEPT && far >= nearest->kept[KEPT - 1].distance))
		return;
	for (size_t i = 0; i < nearest->count; i++)
		if (strcmp(nearest->kept[i].name, name) == 0)
			return;
	for (at = nearest->count < KEPT ? nearest->count++ : KEPT - 1; at && nearest->kept[at - 1].distance > far; at--)
		nearest->kept[at] = nearest->kept[at - 1];
	nearest->kept[at].distance = far;
	strcpy(nearest->kept[at].name, name);
}

void ada_nearest_offer(struct ada_nearest *nearest, const char *name)
{
	if (nearest)
		offer_for(nearest, name, (struct part){ name, strnlen(name, LENGTH_MAX + 1) }, all_wanted(nearest));
}

/* Without what stands between < and >, but for what an operator is called. */
static struct part without_arguments(const char *name, char *text)
{
	struct part part = { text, 0 };
	bool called = false;

	for (size_t depth = 0; *name && part.length < LENGTH_MAX; name++) {
		called |= !strncmp(name, "operator", strlen("operator"));
		depth += *name == '<' && !called;
		if (!depth)
			text[part.length++] = *name;
		depth -= *name == '>' && depth;
	}
	return part;
}

/* Its last `count` of what stands between "::". */
static struct part last_of(struct part part, size_t count)
{
	for (size_t i = part.length; i > 1; i--)
		if (part.at[i - 1] == ':' && part.at[i - 2] == ':' && !--count)
			return (struct part){ part.at + i, part.length - i };
	return part;
}

static size_t components(struct part part)
{
	size_t count = 1;

	for (size_t i = 1; i < part.length; i++)
		count += part.at[i] == ':' && part.at[i - 1] == ':';
	return count;
}

void ada_nearest_offer_function(struct ada_nearest *nearest, const char *name)
{
	char own[LENGTH_MAX], wanted[LENGTH_MAX];
	struct part meant;

	ada_nearest_offer(nearest, name);
	if (!nearest || !strstr(name, "::"))
		return;
	meant = without_arguments(nearest->wanted, wanted);
	offer_for(nearest, name, last_of(without_arguments(name, own), components(meant)), meant);
}

void ada_nearest_offer_library(struct ada_nearest *nearest, const char *name)
{
	const char *version = strstr(name, ".so");

	if (nearest && version)
		offer_for(nearest, name, (struct part){ name, (size_t)(version - name) }, all_wanted(nearest));
	ada_nearest_offer(nearest, name);
}

/* Where one name is a single slip away, the user didn't mean those farther away. */
static bool near_enough(const struct ada_nearest *nearest, size_t i)
{
	return nearest->kept[i].distance <= nearest->kept[0].distance * 3 / 2;
}

void ada_nearest_text(const struct ada_nearest *nearest, char *text, size_t size)
{
	size_t used = 0;

	if (size)
		text[0] = '\0';
	for (size_t i = 0; nearest && i < nearest->count && used < size && near_enough(nearest, i); i++)
		used += (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : "", nearest->kept[i].name);
}

void ada_nearest_close(struct ada_nearest *nearest)
{
	free(nearest);
}
