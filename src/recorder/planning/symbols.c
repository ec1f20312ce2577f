#include "recorder/planning/symbols.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libdeflate.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/file.h"

static void put_escaped(FILE *file, const char *text)
{
	for (; *text; text++)
		switch (*text) {
		case '\\': fputs("\\\\", file); break;
		case '\t': fputs("\\t", file); break;
		case '\n': fputs("\\n", file); break;
		default: putc_unlocked(*text, file);
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

int ada_symbols_write(const char *path, const char *text, size_t text_bytes, const char *module_path, const uint8_t *build_id,
		      size_t build_id_bytes, uint64_t base, uint32_t *checksum, struct ada_error *error)
{
	size_t head_bytes = 0;
	char *head = head_of(module_path, build_id, build_id_bytes, base, &head_bytes);
	int fd, status;

	if (!head)
		return ada_error_system(error, ENOMEM, "%s", path);
	unlink(path); /* the file of a parent process, linked here: not to be written through */
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	status = fd < 0 ? -errno : ada_file_write_all(fd, head, head_bytes);
	if (!status && text)
		status = ada_file_write_all(fd, text, text_bytes);
	if (fd >= 0 && close(fd) && !status)
		status = -errno;
	if (status && fd >= 0)
		unlink(path); /* the disk is full: none rather than half of them */
	*checksum = libdeflate_crc32(0, head, head_bytes);
	if (text)
		*checksum = libdeflate_crc32(*checksum, text, text_bytes);
	free(head);
	return status ? ada_error_system(error, -status, "%s", path) : 0;
}
