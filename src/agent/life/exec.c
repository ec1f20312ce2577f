/* What the program executes: the agent comes along, with an environment that names it, and the recorder hears of the image before.
 *
 * As in intercept.c, all of this runs anywhere: in signal handlers, and in vfork children, which share our memory. */
#include <fcntl.h>
#include <unistd.h>
#include "agent/ground/space.h"
#include "agent/life/life.h"

#define STACK_WORDS 512 /* pointers of an environment that is built on the program's stack */

typedef int execve_function(const char *, char *const *, char *const *);
typedef int fexecve_function(int, char *const *, char *const *);
typedef int execveat_function(int, const char *, char *const *, char *const *, int);

static bool may_be_executed(int directory, const char *path, int flags)
{
	long status = ada_sys4(SYS_faccessat2, directory, (long)path, X_OK, flags | AT_EACCESS);

	return !status || status == -ENOSYS;
}

/* Calls the original with the agent's entries added, and announces the image to the recorder. The environment is built in the thread's
 * room, or on the stack where it fits: a vfork child that execs can't give memory back to the parent from which it borrowed that memory.
 */
static int exec_call(enum ada_intercept which, int directory, const char *path, char *const *arguments, char *const *environment, int flags)
{
	if (which == ADA_INTERCEPT_execve)
		return ((execve_function *)ada_intercept_originals[which])(path, arguments, environment);
	if (which == ADA_INTERCEPT_fexecve)
		return ((fexecve_function *)ada_intercept_originals[which])(directory, arguments, environment);
	if (which == ADA_INTERCEPT_syscall) /* execve(path) is execveat(AT_FDCWD, path) */
		return ((ada_syscall_function *)ada_intercept_originals[which])(SYS_execveat, directory, (long)path, (long)arguments,
										(long)environment, flags, 0);
	return ((execveat_function *)ada_intercept_originals[which])(directory, path, arguments, environment, flags);
}

/* Executes with the program's own limit of address space. A hard limit can't be taken back, so it isn't lent where the image is
 * missing. */
static int exec_with(enum ada_intercept which, int directory, const char *path, char *const *arguments, char *const *environment, int flags)
{
	bool lent = ada_space_is_limited() && may_be_executed(directory, path, flags) && ada_space_limit_lend();
	int result = exec_call(which, directory, path, arguments, environment, flags);

	if (lent)
		ada_space_limit_take_back();
	return result;
}

static __attribute__((noinline)) int exec_small(enum ada_intercept which, int directory, const char *path, char *const *arguments,
						char *const *environment, int flags, const char *preload,
						const struct ada_heir_ticket *ticket)
{
	uint64_t words[STACK_WORDS];

	ada_environment_give(environment, words, preload, ticket);
	return exec_with(which, directory, path, arguments, (char *const *)words, flags);
}

/* What is about to be executed, and how: all that we can find out with signals blocked, on a stack of ours. */
struct image {
	int directory;
	const char *path;
	char *const *environment;
	int flags;
	enum ada_heir_kind kind;
	struct ada_way way; /* to the agent */
	struct ada_heir_ticket ticket;
	uint64_t *words; /* its environment; NULL: to be built on the program's stack */
	size_t mapped;	 /* bytes of them, where they are a mapping of their own */
};

static void image_prepare(void *argument)
{
	struct image *image = argument;
	size_t count = 0;

	if (ada_core_is_forked()) /* and no hook has run in it */
		ada_process_forked_slow();
	image->kind = ada_restraint_reason();
	if (image->kind == ADA_HEIR_EXEC && ada_process_is_traced())
		image->kind = ADA_HEIR_TRACED;
	if (image->kind == ADA_HEIR_EXEC)
		image->kind = ada_image_kind(image->directory, image->path, image->flags);
	if (image->kind == ADA_HEIR_EXEC)
		image->kind = ada_environment_way(&image->way);
	if (image->kind == ADA_HEIR_EXEC)
		count = ada_environment_words(image->environment);
	if (count)
		image->words = ada_room_words(count);
	if (count > STACK_WORDS && !image->words) {
		image->mapped = count * sizeof *image->words;
		image->words = ada_sys_map(image->mapped);
		if (!image->words)
			image->kind = ADA_HEIR_NO_MEMORY;
	}
	image->ticket = ada_heir_announce(ada_core_shm(), image->kind, image->directory, image->path, image->flags);
	if (image->words)
		ada_environment_give(image->environment, image->words, image->way.preload, &image->ticket);
}

int ada_exec_follow(enum ada_intercept which, int directory, const char *path, char *const *arguments, char *const *environment, int flags)
{
	struct image image = { .directory = directory, .path = path, .environment = environment, .flags = flags, .way = { .fd = -1 } };
	bool restrained = ada_restraint_reason() != ADA_HEIR_EXEC; /* restrained: no system call of ours is safe, and none is made */
	uint64_t mask;
	int result;

	if (ada_base_moved() || !ada_process_follows())
		return exec_with(which, directory, path, arguments, environment, flags);
	if (restrained || !ada_quiet_enter()) {
		image_prepare(&image);
	} else {
		mask = ada_sys_signals_block();
		ada_aside(image_prepare, &image);
		ada_sys_signals_restore(mask); /* the image inherits the mask */
		ada_quiet_leave();
	}
	if (image.kind != ADA_HEIR_EXEC)
		result = exec_with(which, directory, path, arguments, environment, flags);
	else if (!image.words)
		result = exec_small(which, directory, path, arguments, environment, flags, image.way.preload, &image.ticket);
	else
		result = exec_with(which, directory, path, arguments, (char *const *)image.words, flags);
	if (image.mapped)
		ada_sys_unmap(image.words, image.mapped);
	else
		ada_room_words_return(image.words);
	ada_heir_withdraw(ada_core_shm(), &image.ticket);
	ada_environment_way_end(&image.way);
	return result;
}
