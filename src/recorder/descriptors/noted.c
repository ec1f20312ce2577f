#include "recorder/descriptors/noted.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "recorder/files/json.h"

#define LOOKS_MAX 1024
#define SPANS_MAX 4096 /* descriptors, each as long as it was the same */

struct span {
	uint64_t from_ns, to_ns; /* the beginning of the first look that found it so, and the end of the last */
	json_object *lead;
};
struct moment {
	uint64_t start_ns, end_ns;
	bool partly;
};
struct ada_noted {
	ADA_ARRAY(struct moment) looks;
	ADA_ARRAY(struct span) spans;
};

struct ada_noted *ada_noted_new(void)
{
	return calloc(1, sizeof(struct ada_noted));
}

void ada_noted_free(struct ada_noted *noted)
{
	if (!noted)
		return;
	for (size_t i = 0; i < noted->spans.count; i++)
		json_object_put(noted->spans.items[i].lead);
	ada_array_free(&noted->spans);
	ada_array_free(&noted->looks);
	free(noted);
}

/* The oldest `count` looks, and what was found in none behind them. */
static void drop_oldest(struct ada_noted *noted, size_t count)
{
	uint64_t until_ns = noted->looks.items[count - 1].end_ns;
	size_t kept = 0;

	noted->looks.count -= count;
	memmove(noted->looks.items, noted->looks.items + count, noted->looks.count * sizeof *noted->looks.items);
	for (size_t i = 0; i < noted->spans.count; i++)
		if (noted->spans.items[i].to_ns <= until_ns)
			json_object_put(noted->spans.items[i].lead);
		else
			noted->spans.items[kept++] = noted->spans.items[i];
	noted->spans.count = kept;
}

/* The span of the look before that is like the lead; NULL: none. Spans of one look lie in the order of their descriptors' numbers, but for
 * those that began in different looks: so all are looked through, from where the last was found on. */
static struct span *find_same(struct ada_noted *noted, const json_object *lead, uint64_t last_ns, size_t *from)
{
	for (size_t n = 0; n < noted->spans.count; n++) {
		size_t i = (*from + n) % noted->spans.count;
		struct span *span = &noted->spans.items[i];

		if (span->to_ns == last_ns && json_object_equal(span->lead, (json_object *)lead)) {
			*from = i + 1;
			return span;
		}
	}
	return NULL;
}

static int add_lead(struct ada_noted *noted, json_object *lead, uint64_t last_ns, size_t *from, const struct ada_look *look)
{
	struct span *same = lead ? find_same(noted, lead, last_ns, from) : NULL;

	if (same)
		same->to_ns = look->end_ns;
	else if (lead && !ada_array_push(&noted->spans, ((struct span){ look->start_ns, look->end_ns, lead })))
		return 0;
	json_object_put(lead);
	return same ? 0 : -ENOMEM;
}

int ada_noted_add(struct ada_noted *noted, const struct ada_look *look, bool paths)
{
	uint64_t last_ns = noted->looks.count ? noted->looks.items[noted->looks.count - 1].end_ns : 0;
	size_t from = 0;
	int status = ada_array_push(&noted->looks, ((struct moment){ look->start_ns, look->end_ns, look->partly }));

	for (size_t i = 0; i < look->leads.count && !status; i++)
		status = add_lead(noted, ada_lead_json(&look->leads.items[i], paths), last_ns, &from, look);
	while (noted->looks.count > 1 && (noted->looks.count > LOOKS_MAX || noted->spans.count > SPANS_MAX))
		drop_oldest(noted, (noted->looks.count + 7) / 8);
	return status;
}

json_object *ada_noted_json(const struct ada_noted *noted)
{
	json_object *object = json_object_new_object(), *looks = json_object_new_array(), *list = json_object_new_array();

	json_object_object_add(object, "format", json_object_new_string("ada-descriptors"));
	ada_json_count(object, "version", 1);
	for (size_t i = 0; i < noted->looks.count; i++) {
		json_object *look = json_object_new_object();

		ada_json_count(look, "startNs", noted->looks.items[i].start_ns);
		ada_json_count(look, "endNs", noted->looks.items[i].end_ns);
		if (noted->looks.items[i].partly)
			json_object_object_add(look, "partly", json_object_new_boolean(true));
		json_object_array_add(looks, look);
	}
	for (size_t i = 0; i < noted->spans.count; i++) {
		json_object *lead = NULL; /* of its own: another thread writes it, and counts references */

		if (json_object_deep_copy(noted->spans.items[i].lead, &lead, NULL))
			continue;
		ada_json_count(lead, "fromNs", noted->spans.items[i].from_ns);
		ada_json_count(lead, "toNs", noted->spans.items[i].to_ns);
		json_object_array_add(list, lead);
	}
	json_object_object_add(object, "looks", looks);
	json_object_object_add(object, "descriptors", list);
	return object;
}
