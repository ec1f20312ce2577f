/* detail_lane.windows[] of manifest.json. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "recorder/session/manifest_parts.h"

#define TEXT 400
#define NEARLY 10000 /* the pin is in ticks, the roll in ns: one part in so many may be missing without a word */

static double seconds(uint64_t ns)
{
	return (double)ns / 1e9;
}

static uint64_t less(uint64_t from, uint64_t what)
{
	return from > what ? from - what : 0;
}

static json_object *kind_of(const struct ada_rule_info *info)
{
	return ada_json_text_of(info->trigger->kind_text, strlen(info->trigger->kind_text));
}

/* --- Marks --------------------------------------------------------------------------------------------------------------- */

static json_object *typed_value_of(enum ada_value_type type, uint64_t value)
{
	double number;
	float small;

	switch (type) {
	case ADA_VALUE_I64: return json_object_new_int64((int64_t)value);
	case ADA_VALUE_I32: return json_object_new_int64((int32_t)value);
	case ADA_VALUE_I16: return json_object_new_int64((int16_t)value);
	case ADA_VALUE_I8: return json_object_new_int64((int8_t)value);
	case ADA_VALUE_U64: return json_object_new_uint64(value);
	case ADA_VALUE_U32: return json_object_new_uint64((uint32_t)value);
	case ADA_VALUE_U16: return json_object_new_uint64((uint16_t)value);
	case ADA_VALUE_U8: return json_object_new_uint64((uint8_t)value);
	case ADA_VALUE_F64: memcpy(&number, &value, sizeof number); return json_object_new_double(number);
	case ADA_VALUE_F32: memcpy(&small, &value, sizeof small); return json_object_new_double((double)small);
	}
	return json_object_new_uint64(value);
}

/* The value in the unit of the rule: ns, the type of the result or argument, else a count; NULL where no single number was compared. */
static json_object *value_of(const struct ada_provider *provider, const struct ada_rule_info *info, const struct ada_window_mark *mark)
{
	const struct ada_clock_anchor *anchors;
	uint64_t value = mark->value;

	switch (info->rule.kind) {
	case ADA_RULE_ARG:
		if (info->redacted)
			return NULL;
		return typed_value_of((enum ada_value_type)info->rule.type, value);
	case ADA_RULE_RETURN: return typed_value_of((enum ada_value_type)info->rule.type, value);
	case ADA_RULE_SPAN: /* as the two events say, to the ns */
		if (mark->begin_ns)
			return json_object_new_uint64(mark->ns - mark->begin_ns);
		break;
	case ADA_RULE_LATENCY:
	case ADA_RULE_PERCENTILE:
		if (ada_clock_anchors(provider->recorder->clock, &anchors))
			return json_object_new_uint64((uint64_t)((double)value * anchors[0].ns_per_tick));
		break;
	case ADA_RULE_SYMBOL:
	case ADA_RULE_RATE:
	case ADA_RULE_EXCEPTION:
	case ADA_RULE_MANUAL:
	case ADA_RULE_TIME: return NULL;
	}
	return json_object_new_uint64(value);
}

static json_object *label_of(const struct ada_provider *provider, const struct ada_rule_info *info, uint64_t value)
{
	const struct ada_recorder *recorder = provider->recorder;
	const char *label = info->trigger->label;

	if (info->rule.kind == ADA_RULE_MANUAL && value && value <= recorder->labels.count && recorder->labels.items[value - 1])
		label = recorder->labels.items[value - 1];
	return label ? ada_json_text_of(label, strlen(label)) : NULL;
}

/* The function, for a mark of an event; number 0 is the first function of the first module. Signals and the recorder's marks are no
 * events. */
static json_object *function_of(const struct ada_rule_info *info, const struct ada_window_mark *mark)
{
	uint32_t kind = info->trigger ? info->rule.kind : 0;
	bool event = mark->thread != ADA_NONE && (info->trigger ? kind != ADA_RULE_CRASH && kind != ADA_RULE_SIGNAL : mark->function_id);

	return event ? json_object_new_uint64(mark->function_id) : NULL;
}

/* Of a rule from one call to another: what was equal, and where it began. */
static void add_span(json_object *object, const struct ada_rule_info *info, const struct ada_window_mark *mark)
{
	json_object *begin;

	if (!mark->begin_ns || !info->trigger)
		return;
	begin = json_object_new_object();
	json_object_object_add(begin, "thread", json_object_new_uint64(mark->begin_thread));
	ada_json_count(begin, "tsNs", mark->begin_ns);
	json_object_object_add(object, "key", info->redacted ? NULL : typed_value_of((enum ada_value_type)info->rule.type, mark->key));
	json_object_object_add(object, "begin", begin);
}

/* Whether the event's place is known, and the event was not lost since: with a packed block that a full disk didn't take. */
static bool names_event(const struct ada_provider *provider, const struct ada_window_mark *mark)
{
	const struct ada_drain *drain = &provider->drain;

	return mark->index_seq != UINT64_MAX && mark->thread < drain->lanes.count &&
	       ada_lane_has(&drain->lanes.items[mark->thread], mark->segment, mark->index_seq);
}

static json_object *mark_of(const struct ada_provider *provider, const struct ada_window_mark *mark)
{
	json_object *object = json_object_new_object(), *rules = json_object_new_array();
	struct ada_rule_info info, first = { .trigger = NULL };
	bool known, event;

	for (uint32_t slot = 0; slot < ADA_RULES_MAX; slot++) {
		if (!(mark->rules >> slot & 1) || !ada_manifest_rule(provider, mark->version, slot, &info))
			continue;
		json_object_array_add(rules, json_object_new_uint64(info.id));
		if (!first.trigger)
			first = info;
	}
	known = first.trigger;
	event = names_event(provider, mark);
	json_object_object_add(object, "kind", known ? kind_of(&first) : NULL);
	json_object_object_add(object, "rule", known ? json_object_new_uint64(first.id) : NULL);
	json_object_object_add(object, "rules", rules);
	ada_json_count(object, "tsNs", mark->ns);
	json_object_object_add(object, "thread", mark->thread == ADA_NONE ? NULL : json_object_new_uint64(mark->thread));
	json_object_object_add(object, "segment", event ? json_object_new_uint64(mark->segment) : NULL);
	json_object_object_add(object, "indexSeq", event ? json_object_new_uint64(mark->index_seq) : NULL);
	json_object_object_add(object, "functionId", function_of(&first, mark));
	json_object_object_add(object, "value", known ? value_of(provider, &first, mark) : NULL);
	json_object_object_add(object, "label", known ? label_of(provider, &first, mark->value) : NULL);
	add_span(object, &first, mark);
	if (mark->more)
		ada_json_count(object, "more", mark->more);
	return object;
}

static void add_kinds(const struct ada_provider *provider, json_object *kinds, uint32_t version, uint64_t rules, uint64_t *told)
{
	struct ada_rule_info info;

	for (uint32_t slot = 0; slot < ADA_RULES_MAX; slot++) {
		bool known = false;

		if (!(rules >> slot & 1) || *told >> slot & 1 || !ada_manifest_rule(provider, version, slot, &info))
			continue;
		for (size_t i = 0; i < json_object_array_length(kinds); i++)
			known |= !strcmp(json_object_get_string(json_object_array_get_idx(kinds, i)), info.trigger->kind_text);
		if (!known)
			json_object_array_add(kinds, kind_of(&info));
		*told |= 1ull << slot;
	}
}

/* Of its marks in their order; then of those that are only counted. */
static json_object *kinds_of(const struct ada_provider *provider, const struct ada_window *window)
{
	json_object *kinds = json_object_new_array();
	uint64_t told = 0;
	uint32_t version = window->version;

	for (size_t i = 0; i < window->marks.count; i++) {
		const struct ada_window_mark *mark = &window->marks.items[i];

		if (mark->version != version)
			told = 0; /* a slot may mean another rule now */
		version = mark->version;
		add_kinds(provider, kinds, version, mark->rules, &told);
	}
	add_kinds(provider, kinds, version, window->rules, &told);
	return kinds;
}

/* --- Why it has less than was asked ---------------------------------------------------------------------------------------- */

static char *size_text(uint64_t bytes, char text[24])
{
	static const char units[] = " KMGT";
	int unit = 0;

	while (bytes && bytes % 1024 == 0 && units[unit + 1]) {
		bytes /= 1024;
		unit++;
	}
	snprintf(text, 24, "%" PRIu64 "%.*s", bytes, unit > 0, &units[unit]);
	return text;
}

/* The buffer that would have held the window: a power of two, a fifth more than the rate gives. 0: not known. */
static uint64_t sufficient(const struct ada_provider *provider, const struct ada_window *window, const struct ada_detail_metrics *metrics)
{
	uint64_t buffer = (uint64_t)provider->header.detail_chunks * provider->header.detail_chunk_bytes;
	uint64_t given = provider->recorder->options->detail_buffer_bytes; /* buffer is in whole chunks */
	uint64_t asked = less(window->marked_ns, window->asked_start_ns), held = less(window->marked_ns, window->start_ns);
	double history = (double)held > metrics->oldest_history_ns ? (double)held : metrics->oldest_history_ns;
	double wanted;
	uint64_t bytes = ADA_DETAIL_BUFFER_MIN;

	if (window->sufficient_bytes)
		return window->sufficient_bytes;
	if (!asked || history <= 0)
		return 0;
	wanted = (double)buffer * (double)asked / history * 1.2;
	while (bytes <= ADA_DETAIL_BUFFER_MAX && ((double)bytes < wanted || bytes <= given))
		bytes *= 2;
	return bytes <= ADA_DETAIL_BUFFER_MAX ? bytes : 0;
}

static void say(char text[TEXT], const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(char text[TEXT], const char *format, ...)
{
	size_t length = strlen(text);
	va_list arguments;

	if (length && length < TEXT - 2) {
		memcpy(text + length, "; ", 3);
		length += 2;
	}
	va_start(arguments, format);
	vsnprintf(text + length, TEXT - length, format, arguments);
	va_end(arguments);
}

/* Marks ask for rolls in time, in events or, several marks, in both: then we tell of the one that is shorter than asked. */
static bool short_in_time(uint64_t saved_ns, uint64_t asked_ns, uint64_t asked_events)
{
	return asked_ns && (!asked_events || saved_ns < asked_ns);
}

static void say_overrun(char text[TEXT], const struct ada_provider *provider, const struct ada_window *window,
			const struct ada_detail_metrics *metrics)
{
	bool limited = provider->header.detail.history; /* to a part of the buffer so far: a larger one would not have helped */
	char buffer[24], wanted[24], held_in[48] = "history of detail", cure[160] = "";
	uint64_t bytes = sufficient(provider, window, metrics), held = less(window->marked_ns, window->start_ns);

	if (window->pre_ns && !window->pre_events && less(window->pre_ns, held) <= window->pre_ns / NEARLY)
		return;
	size_text((uint64_t)provider->header.detail_chunks * provider->header.detail_chunk_bytes, buffer);
	if (limited)
		snprintf(
			cure, sizeof cure,
			"; with --budget it grows second by second while the process costs no more than it may, up to the detail buffer of %s",
			buffer);
	else
		snprintf(held_in, sizeof held_in, "detail buffer of %s", buffer);
	if (!limited && bytes)
		snprintf(cure, sizeof cure, ": --detail-buffer=%s would have sufficed", size_text(bytes, wanted));
	if (short_in_time(held, window->pre_ns, window->pre_events))
		say(text, "the %s %s only %.6g s of the %.6g s asked%s", held_in, limited ? "reached back" : "held", seconds(held),
		    seconds(window->pre_ns), cure);
	else
		say(text, "the %s no longer held the %" PRIu64 " events before the mark that were asked%s", held_in, window->pre_events,
		    cure);
}

static void say_end(char text[TEXT], const struct ada_window *window, const char *what)
{
	uint64_t saved = less(window->end_ns, window->last_marked_ns);

	if (short_in_time(saved, window->post_ns, window->post_events))
		say(text, "%s %.6g s after the mark, %.6g s were asked", what, seconds(saved), seconds(window->post_ns));
	else
		say(text, "%s before the %" PRIu64 " events asked after the mark", what, window->post_events);
}

static json_object *short_reason_of(const struct ada_provider *provider, const struct ada_window *window,
				    const struct ada_detail_metrics *metrics)
{
	char text[TEXT] = "", size[24];

	if (window->shorts & ADA_SHORT_STARTUP) {
		uint64_t saved = less(window->marked_ns, window->start_ns);

		if (short_in_time(saved, window->pre_ns, window->pre_events))
			say(text, "recording began only %.6g s before the mark, %.6g s were asked", seconds(saved),
			    seconds(window->pre_ns));
		else
			say(text, "there were fewer than the %" PRIu64 " events asked before the mark", window->pre_events);
	}
	if (window->shorts & ADA_SHORT_OVERWRITTEN)
		say(text,
		    "newer events had overwritten some of it in the index buffer of %s: a larger --index-buffer keeps more, "
		    "--index-mode=streaming all",
		    size_text(provider->recorder->options->index_buffer_bytes, size));
	else if (window->shorts & ADA_SHORT_OVERRUN)
		say_overrun(text, provider, window, metrics);
	if (window->shorts & ADA_SHORT_FROZEN)
		say(text, "its pre-roll reaches into a window that was already being written");
	if (window->shorts & ADA_SHORT_STARVED)
		say(text,
		    "nothing of the detail buffer of %s was free in time, and events were captured without detail: a larger "
		    "--detail-buffer or shorter rolls avoid it",
		    size_text((uint64_t)provider->header.detail_chunks * provider->header.detail_chunk_bytes, size));
	if (window->shorts & ADA_SHORT_THREAD)
		say_end(text, window, "its thread ended");
	if (window->shorts & ADA_SHORT_QUIET)
		say(text, "no event came for 1 s, before the %" PRIu64 " events asked after the mark", window->post_events);
	if (window->shorts & ADA_SHORT_EXIT)
		say_end(text, window, "the process ended");
	if (window->shorts & ADA_SHORT_STOPPED)
		say_end(text, window, "the recording was ended");
	if (window->shorts & ADA_SHORT_LOST)
		say(text,
		    "up to %" PRIu64 " events in it were lost with no room for them: a larger --index-buffer or --on-full=block avoids "
		    "it",
		    window->lost);
	if (window->shorts & ADA_SHORT_LATE)
		say(text, "some of its events came when it was written already, and their detail was overwritten by then");
	if (window->shorts & ADA_SHORT_DISK)
		say(text, "%" PRIu64 " of its records could not be written", window->unwritten);
	if (window->aged)
		say(text, "%" PRIu64 " of its records have gone: a larger --disk-limit or --detail-limit would have kept them",
		    window->aged_count);
	return *text ? json_object_new_string(text) : NULL;
}

/* --- Windows ------------------------------------------------------------------------------------------------------------- */

/* With as many digits as it needs: "5.0", "0.05". */
static void add_seconds(json_object *object, const char *key, uint64_t ns)
{
	char text[40];
	int length = snprintf(text, sizeof text, "%.9f", seconds(ns));

	while (length > 2 && text[length - 1] == '0' && text[length - 2] != '.')
		text[--length] = 0;
	json_object_object_add(object, key, json_object_new_double_s(seconds(ns), text));
}

/* The rolls asked for, in time, in events, or both; null and 0 seconds where they were asked in events only. */
static void add_requested(json_object *object, const struct ada_window *window)
{
	add_seconds(object, "requestedPreRollSec", window->pre_ns);
	add_seconds(object, "requestedPostRollSec", window->post_ns);
	if (window->pre_events)
		ada_json_count(object, "requestedPreRollEvents", window->pre_events);
	if (window->post_events)
		ada_json_count(object, "requestedPostRollEvents", window->post_events);
}

/* Whether a circular index has overwritten the marked event and all that the mark asked for. Such a window stands where it was marked, not
 * behind the hole: what is left begins there, and has nothing to do with the mark. */
static bool is_overwritten(const struct ada_window *window)
{
	return window->shorts & ADA_SHORT_OVERWRITTEN && !window->event_count && window->end_ns == window->start_ns &&
	       window->marks.count && window->marks.items[0].index_seq == UINT64_MAX && window->marked_ns < window->start_ns;
}

static json_object *window_of(const struct ada_provider *provider, const struct ada_window *window,
			      const struct ada_detail_metrics *metrics)
{
	json_object *object = json_object_new_object(), *kinds = kinds_of(provider, window), *marks = json_object_new_array();
	bool open = window->end_ns == ADA_WINDOW_OPEN, marked = window->marked_count;
	const char *first = json_object_array_length(kinds) ? json_object_get_string(json_object_array_get_idx(kinds, 0)) : "";
	uint64_t start_ns = is_overwritten(window) ? window->marked_ns : window->start_ns;
	/* Until the window's end is known, its last mark counts. */
	uint64_t end_ns = is_overwritten(window)		    ? start_ns :
			  !open					    ? window->end_ns :
			  window->last_marked_ns > window->start_ns ? window->last_marked_ns :
								      window->start_ns;

	ada_json_count(object, "id", window->id);
	ada_json_count(object, "startNs", start_ns);
	ada_json_count(object, "endNs", end_ns);
	json_object_object_add(object, "triggerKind", ada_json_text_of(first, strlen(first)));
	json_object_object_add(object, "triggerKinds", kinds);
	json_object_object_add(object, "keySymbolVersion", ada_manifest_version(provider, window->version));
	add_seconds(object, "preRollSec", marked ? less(window->marked_ns, window->start_ns) : 0);
	add_seconds(object, "postRollSec",
		    less(end_ns, marked && window->last_marked_ns > window->start_ns ? window->last_marked_ns : window->start_ns));
	add_requested(object, window);
	ada_json_count(object, "event_count", window->event_count);
	ada_json_count(object, "eventCount", window->event_count);
	if (window->unwritten)
		ada_json_count(object, "lostCount", window->unwritten);
	if (window->aged)
		ada_json_count(object, "agedCount", window->aged_count);
	ada_json_count(object, "markedNs", window->marked_ns);
	ada_json_count(object, "markedCount", window->marked_count);
	for (size_t i = 0; i < window->marks.count; i++)
		json_object_array_add(marks, mark_of(provider, &window->marks.items[i]));
	json_object_object_add(object, "marks", marks);
	json_object_object_add(object, "shortReason", short_reason_of(provider, window, metrics));
	json_object_object_add(object, "closed", json_object_new_boolean(window->closed));
	json_object_object_add(object, "settled", json_object_new_boolean(window->settled));
	return object;
}

json_object *ada_manifest_windows(const struct ada_provider *provider, const struct ada_detail_metrics *metrics)
{
	json_object *list = json_object_new_array();
	struct ada_windows *windows = provider->details ? ada_details_windows(provider->details) : NULL;

	for (size_t i = 0; windows && i < ada_windows_count(windows); i++)
		json_object_array_add(list, window_of(provider, ada_windows_at(windows, i), metrics));
	return list;
}
