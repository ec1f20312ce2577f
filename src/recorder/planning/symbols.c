#include "recorder/planning/symbols.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libdeflate.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/file.h"

static void put_escaped(FILE *file, const char *text)
{
	for (;;) {
		size_t plain = strcspn(text, "\\\t\n");

		fwrite_unlocked(text, 1, plain, file);
		text += plain;
		switch (*text++) {
		case '\\': fputs("\\\\", file); break;
		case '\t': fputs("\\t", file); break;
		case '\n': fputs("\\n", file); break;
		default: return;
		}
	}
}

char *ada_symbols_text(const struct ada_plan *plan, size_t *bytes)
{
	char *text = NULL;
	FILE *file = open_memstream(&text, bytes);
	uint32_t count;
	const struct ada_plan_function *functions;

	if (!file)
		return NULL;
	count = ada_plan_header(plan)->function_count;
	functions = ada_plan_functions(plan);
	for (uint32_t i = 0; i < count; i++) {
		fprintf(file, "%u\t0x%" PRIx64 "\t%u\t", i, functions[i].address, functions[i].size);
		put_escaped(file, ada_plan_string(plan, functions[i].name));
		putc_unlocked('\n', file);
	}
	if (!fclose(file))
		return text;
	free(text);
	return NULL;
}

/* The first line; malloc'ed, NULL: no memory. */
static char *head_of(const char *module_path, const uint8_t *build_id, size_t build_id_bytes, uint64_t base, size_t *bytes)
{
	char *text = NULL;
	FILE *file = open_memstream(&text, bytes);

	if (!file)
		return NULL;
	fputs("#\t", file);
	put_escaped(file, module_path);
	putc('\t', file);
	for (size_t i = 0; i < build_id_bytes; i++)
		fprintf(file, "%02x", build_id[i]);
	fprintf(file, "%s\t0x%" PRIx64 "\n", build_id_bytes ? "" : "-", base);
	if (!fclose(file))
		return text;
	free(text);
	return NULL;
}

/* At once, since a session is read while it is recorded; and a parent process's file that is linked here is not written through. */
int ada_symbols_write(const char *path, const char *text, size_t text_bytes, const char *module_path, const uint8_t *build_id,
		      size_t build_id_bytes, uint64_t base, uint32_t *checksum, struct ada_error *error)
{
	size_t bytes = 0, more = text ? text_bytes : 0;
	char *head = head_of(module_path, build_id, build_id_bytes, base, &bytes), *all = head ? realloc(head, bytes + more) : NULL;
	int status = -ENOMEM;

	if (all) {
		if (more)
			memcpy(all + bytes, text, more);
		status = ada_file_replace_at(AT_FDCWD, path, all, bytes + more, false);
		*checksum = libdeflate_crc32(0, all, bytes + more);
	}
	if (status)
		unlink(path); /* the disk is full: none rather than the parent's */
	free(all ? all : head);
	return status ? ada_error_system(error, -status, "%s", path) : 0;
}
