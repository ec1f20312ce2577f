/* Panics. Each calls panic_with_hook once, whose arguments lead to the place in the source, a constant; the hook that is there by itself then
 * asks for the text by payload_as_str, whose argument --capture=auto keeps. docs/inside/crash.md has the layouts. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "elf/file/classes.h"
#include "query/rust/rust.h"
#include "query/session/source.h"
#include "query/session/windows.h"
#include "query/values/arguments.h"

#define FILE_MAX 4096
#define EVENTS_MAX 4096 /* from the panic to its text: formatting it may call much */

static const char *mangled_name(const struct ada_process *process, uint64_t function_id)
{
	const struct ada_symbol *symbol = ada_module_symbol(ada_process_module(process, function_id), ADA_FUNCTION_SYMBOL(function_id));

	return symbol ? symbol->mangled : "";
}

bool ada_rust_panics(const struct ada_process *process, uint64_t function_id)
{
	const char *name = mangled_name(process, function_id);

	return strstr(name, "9panicking15panic_with_hook") || strstr(name, "9panicking20rust_panic_with_hook");
}

bool ada_rust_panic_of_mark(const struct ada_process *process, const json_object *mark, const struct ada_thread **thread,
			    uint64_t *position)
{
	uint64_t id = ada_json_u64(mark, "functionId", ADA_NO_FUNCTION);

	return id != ADA_NO_FUNCTION && ada_rust_panics(process, id) && ada_mark_event(process, mark, thread, position);
}

size_t ada_rust_panicked(const struct ada_process *process, const struct ada_stack *path, size_t count)
{
	for (; count; count--) {
		uint64_t id = path->frames.items[count - 1].function_id;

		if (ada_process_traces(process, id) && !ada_rust_is_library(ada_process_module(process, id), id))
			break;
	}
	return count;
}

/* --- where ----------------------------------------------------------------------------------------------------------------- */

/* A Location: address and length of the path, u32 line, u32 column. False: none is there. */
static bool read_place(const struct ada_process *process, uint64_t address, uint64_t ns, struct ada_panic *panic)
{
	struct ada_elf_target target;
	const uint8_t *place, *text;
	uint64_t in_file, length, rest;
	const struct ada_elf *elf = ada_process_file(process, address, ns, &in_file);

	place = elf ? ada_elf_at(elf, in_file, 24) : NULL;
	if (!place || !ada_elf_pointer(elf, in_file, &target) || !target.address)
		return false;
	length = ada_read64(place + 8);
	text = ada_elf_rest(elf, target.address, &rest);
	if (!text || !length || length > FILE_MAX || length > rest || !ada_read32(place + 16) || !ada_read32(place + 20))
		return false;
	length -= !text[length - 1]; /* newer ones have a NUL in the length */
	for (uint64_t i = 0; i < length; i++)
		if (text[i] < ' ')
			return false;
	panic->file = strndup((const char *)text, length);
	panic->line = ada_read32(place + 16);
	panic->column = ada_read32(place + 20);
	return true;
}

/* Behind the two words of the payload; before Rust 1.81 the message's format lay between them. */
static void find_place(const struct ada_thread *thread, uint64_t position, struct ada_panic *panic)
{
	struct atf_detail record;

	if (ada_thread_detail(thread, position, &record) || !record.sp)
		return;
	for (int i = 2; i <= 3; i++)
		if (!ada_captured_redacted(&record, i) && read_place(thread->process, record.x[i], record.timestamp_ns, panic))
			return;
}

/* --- what ------------------------------------------------------------------------------------------------------------------ */

/* The payload's own type, which payload_as_str asks it for: the next call. */
static const char *type_of(const struct ada_thread *thread, uint64_t position)
{
	static const char *const types[] = { "<alloc::string::String as core::any::Any>::type_id", "<&str as core::any::Any>::type_id" };
	const struct ada_event *event = position + 1 < thread->count ? atf_thread_get(thread->events, position + 1) : NULL;
	char buffer[ADA_NAME_BUFFER];
	const char *name;

	if (!event || event->event_kind != ADA_EVENT_CALL)
		return "";
	name = ada_module_function(ada_process_module(thread->process, event->function_id), event->function_id, buffer);
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (!strcmp(name, types[i]))
			return types[i];
	return "";
}

static int read_text(const struct ada_thread *thread, uint64_t position, struct ada_panic *panic)
{
	const char *type = type_of(thread, position);
	struct ada_captured captured = { .process = thread->process };
	const uint8_t *payload, *text;
	uint64_t bytes, length;
	struct atf_detail record;
	bool is_string;

	if (!*type || ada_thread_detail(thread, position, &record) || !record.sp || ada_captured_redacted(&record, 0))
		return 0;
	captured.record = &record;
	payload = ada_captured_at(&captured, record.x[0], &bytes);
	is_string = strstr(type, "String"); /* capacity, address, length; else a &str: address, length */
	if (!payload || bytes < (is_string ? 24 : 16))
		return 0;
	payload += is_string ? 8 : 0;
	length = ada_read64(payload + 8);
	text = ada_captured_at(&captured, ada_read64(payload), &bytes);
	if (!text)
		return 0;
	if (asprintf(&panic->text, "%.*s%s", (int)(bytes < length ? bytes : length), (const char *)text, bytes < length ? "..." : "") < 0)
		panic->text = NULL;
	return panic->text ? 0 : -ENOMEM;
}

static int find_text(const struct ada_thread *thread, uint64_t position, struct ada_panic *panic)
{
	for (uint64_t i = position + 1; i < thread->count && i - position < EVENTS_MAX; i++) {
		const struct ada_event *event = atf_thread_get(thread->events, i);

		if (event->event_kind != ADA_EVENT_CALL)
			continue;
		if (ada_rust_panics(thread->process, event->function_id))
			return 0; /* another panic's */
		if (strstr(mangled_name(thread->process, event->function_id), "9panicking14payload_as_str"))
			return read_text(thread, i, panic);
	}
	return 0;
}

int ada_panic_read(const struct ada_thread *thread, uint64_t position, struct ada_panic *panic)
{
	*panic = (struct ada_panic){};
	find_place(thread, position, panic);
	return find_text(thread, position, panic);
}

void ada_panic_free(struct ada_panic *panic)
{
	free(panic->file);
	free(panic->text);
	*panic = (struct ada_panic){};
}
