/* Checksums of the files that are text: the JSON files' own, and those of the modules' tables, which are in the manifest. */
#include <inttypes.h>
#include <libdeflate.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/file.h"
#include "base/seal.h"
#include "query/noted/noted.h"
#include "query/verify/verify.h"

void ada_verify_seal(struct ada_verify *verify, const char *directory, const char *name, const char *file, const json_object *document)
{
	struct ada_error error = {};
	char path[PATH_MAX], *text;
	uint32_t says, is;
	enum ada_seal seal;
	size_t length;

	if (ada_path(path, "%s/%s", directory, name))
		return;
	if (ada_file_read_regular(path, &text, &length, &error)) {
		ada_verify_found(verify, file, "checksum", false, "%s", error.text);
		return;
	}
	seal = ada_seal_check(text, length, &says, &is);
	free(text);
	if (seal == ADA_SEAL_SOUND)
		ada_verify_found(verify, file, "checksum", true, "%s", "");
	else if (is)
		ada_verify_found(verify, file, "checksum", false, "CRC32 is %08" PRIx32 " and the file says %08" PRIx32, is, says);
	else if (seal == ADA_SEAL_BROKEN || ada_json_get(document, ADA_SEAL_KEY))
		ada_verify_found(verify, file, "checksum", false, "is not as ada wrote it: it doesn't begin with its checksum");
	else
		ada_verify_found(verify, file, "checksum", true, "has none: nothing tells whether a byte of it changed");
}

void ada_verify_descriptors(struct ada_verify *verify, const struct ada_process *process)
{
	char path[PATH_MAX], file[PATH_MAX];
	struct ada_noted *noted;

	if (ada_path(path, "%s/descriptors.json", process->path) || ada_path(file, "%s/descriptors.json", process->directory) ||
	    access(path, F_OK))
		return;
	noted = ada_noted_open(process);
	ada_verify_found(verify, file, "notes", noted, "%s", noted ? "" : "not JSON, or not what was found at marks");
	ada_verify_seal(verify, process->path, "descriptors.json", file, noted ? noted->document : NULL);
	ada_noted_close(noted);
}

/* The manifest's checksum of a table, against the file's. */
static void verify_checksum(struct ada_verify *verify, const char *path, const char *file, const char *says)
{
	struct ada_error error = {};
	char *text, is[9];
	size_t length;

	if (ada_file_read_regular(path, &text, &length, &error))
		return; /* the reader of its names says so */
	snprintf(is, sizeof is, "%08" PRIx32, libdeflate_crc32(0, text, length));
	free(text);
	if (!says)
		ada_verify_found(verify, file, "checksum", true, "the manifest has none: nothing tells whether a byte of it changed");
	else if (strcmp(says, is))
		ada_verify_found(verify, file, "checksum", false, "CRC32 is %s and the manifest says %s", is, says);
	else
		ada_verify_found(verify, file, "checksum", true, "%s", "");
}

void ada_verify_tables(struct ada_verify *verify, const struct ada_process *process)
{
	const json_object *modules = ada_json_get(process->manifest, "modules");

	for (size_t i = 0; i < ada_json_length(modules); i++) {
		const json_object *entry = json_object_array_get_idx(modules, i);
		const char *symbols = ada_json_text(entry, "symbols", NULL);
		struct ada_module *table;
		char path[PATH_MAX], file[PATH_MAX];

		if (!symbols || strstr(symbols, "..") || ada_path(path, "%s/%s", process->path, symbols) ||
		    ada_path(file, "%s/%s", process->directory, symbols))
			continue;
		/* Reads the table anew: processes share those of the session, but each file must be read. */
		table = ada_module_new(ada_json_text(entry, "path", "?"), "", path);
		if (!table)
			continue;
		if (ada_module_load(table))
			ada_verify_found(verify, file, "table", false, "%s", table->problem.text);
		else
			ada_verify_found(verify, file, "table", true, "%s", "");
		ada_module_free(table);
		verify_checksum(verify, path, file, ada_json_text(entry, "crc32", NULL));
	}
}
