/* One file of a session that may still be written. See verify.h. */
#include <stdlib.h>
#include <string.h>
#include "base/fault.h"
#include "query/verify/verify.h"

#define TRIES 8 /* a thread finishes a file every few ms at most */

static void pass_on(const struct ada_verify_file *file, const char *check, bool ok, const char *message)
{
	ok |= file->unfinished && !strcmp(check, "size");
	ada_verify_found(file->verify, file->file, check, ok, "%s", message);
}

void ada_verify_file_found(void *context, const char *check, bool ok, const char *message)
{
	struct ada_verify_file *file = context;
	struct ada_verify_finding finding = { check, ok, strdup(message) };

	if (!finding.message || ada_array_push(&file->findings, finding)) {
		pass_on(file, check, ok, message);
		free(finding.message);
	}
}

void ada_verify_file_begin(struct ada_verify_file *file)
{
	if (file->tries < TRIES) /* behind these a fault is the answer's */
		ada_fault_hold();
}

bool ada_verify_file_again(struct ada_verify_file *file)
{
	bool shrank = file->tries++ < TRIES && ada_fault_release();

	for (size_t i = 0; i < file->findings.count; i++) {
		struct ada_verify_finding *finding = &file->findings.items[i];

		if (!shrank)
			pass_on(file, finding->check, finding->ok, finding->message);
		free(finding->message);
	}
	ada_array_free(&file->findings);
	return shrank;
}
