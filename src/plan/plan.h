/* Plans: how an ELF file is hooked (layout: abi/plan.h). A plan is made from the file alone and cached by build-id.
 *
 * Cache: $XDG_CACHE_HOME/ada/plans/BUILDID-{full,names}.VERSION (else ~/.cache), mode 0600, written atomically. A file
 * that fails its checks is made again. A file without build-id is keyed by a hash of its contents. A cache directory that is missing,
 * another user's, or not writable is no error: the plan is then a memfd.
 */
#ifndef ADA_PLAN_PLAN_H
#define ADA_PLAN_PLAN_H
#include "abi/plan.h"
#include "base/error.h"
#include "plan/ground/options.h"

struct ada_plan;

/* The plan of the ELF file at `path`. -ENOEXEC: no ELF file of this machine (the message says what it is). */
int ada_plan_open(struct ada_plan **plan, const char *path, const struct ada_plan_options *options, struct ada_error *error);
void ada_plan_close(struct ada_plan *plan);

/* A descriptor of a directory in the cache, made where it isn't there ("plans", and what others keep beside it); or -errno. */
int ada_plan_cache(const char *name);
int ada_plan_fd(const struct ada_plan *plan); /* read-only, owned by the plan: what the agent is sent */
uint64_t ada_plan_bytes(const struct ada_plan *plan);
const struct ada_plan_header *ada_plan_header(const struct ada_plan *plan);
const struct ada_plan_function *ada_plan_functions(const struct ada_plan *plan); /* header->function_count of them */
const struct ada_plan_hook *ada_plan_hooks(const struct ada_plan *plan);
const struct ada_plan_import *ada_plan_imports(const struct ada_plan *plan);
/* So many bytes from its patch address on hold the instructions that the hook's body is a copy of, or the padding that the patch takes,
 * too; where the last of them is a jump that is longer in the copy, up to 3 more. A branch among them may lead back into the patch, so no thread may be there when the patch is put in. */
uint32_t ada_plan_copied(const struct ada_plan *plan, const struct ada_plan_hook *hook);
const char *ada_plan_string(const struct ada_plan *plan, uint32_t offset); /* "" out of range */
#endif
