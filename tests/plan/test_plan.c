/* Opening plans: the cache, names-only plans, and what is damaged. argv[1]: a library built from forms.S. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libdeflate.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "../test.h"
#include "abi/intercept.h"
#include "plan/code/code.h"
#include "plan/file/file.h"
#include "plan/ground/refusal.h"
#include "plan/plan.h"
#include "tables.h"

static const char *library_path;
static char cache[] = "/tmp/ada-test-plan-XXXXXX";

static struct ada_plan *open_plan(const char *path, bool decode)
{
	struct ada_plan_options options = { .decode = decode };
	struct ada_error error = { 0 };
	struct ada_plan *plan;

	if (ada_plan_open(&plan, path, &options, &error))
		fail_msg("%s", error.text);
	return plan;
}

static void cached_file(char path[512])
{
	char directory[256];
	struct dirent *entry;
	DIR *list;

	snprintf(directory, sizeof directory, "%s/ada/plans", cache);
	list = opendir(directory);
	assert_non_null(list);
	path[0] = 0;
	while ((entry = readdir(list)))
		if (entry->d_name[0] != '.')
			snprintf(path, 512, "%s/%s", directory, entry->d_name);
	closedir(list);
	assert_true(path[0]);
}

/* The file that the plan lies in; a memfd has no name. */
static struct stat status_of(const struct ada_plan *plan)
{
	struct stat status;

	assert_int_equal(fstat(ada_plan_fd(plan), &status), 0);
	return status;
}

static void test_cache(void **unused)
{
	struct ada_plan *plan = open_plan(library_path, true);
	uint64_t bytes = ada_plan_bytes(plan);
	ino_t made = status_of(plan).st_ino;
	struct stat status;
	char path[512];

	ada_plan_close(plan);
	cached_file(path);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0600);
	assert_int_equal(status.st_ino, made);
	plan = open_plan(library_path, true);
	assert_int_equal(status_of(plan).st_ino, made); /* from the cache */
	assert_int_equal(ada_plan_bytes(plan), bytes);
	assert_int_equal(write(ada_plan_fd(plan), "x", 1), -1);
	/* Damaged: made again, and put right. */
	assert_int_equal(truncate(path, 1000), 0);
	ada_plan_close(plan);
	plan = open_plan(library_path, true);
	assert_int_not_equal(status_of(plan).st_ino, made);
	made = status_of(plan).st_ino;
	ada_plan_close(plan);
	plan = open_plan(library_path, true);
	assert_int_equal(status_of(plan).st_ino, made);
	ada_plan_close(plan);
	unlink(path);
}

static void test_cache_that_cannot_be_written(void **unused)
{
	struct ada_plan *plan;

	setenv("XDG_CACHE_HOME", "/proc/nowhere", 1);
	plan = open_plan(library_path, true);
	assert_int_equal(status_of(plan).st_nlink, 0);
	assert_int_equal(ada_plan_check(ada_plan_header(plan), ada_plan_bytes(plan), NULL), 0);
	assert_int_equal(write(ada_plan_fd(plan), "x", 1), -1);
	ada_plan_close(plan);
	setenv("XDG_CACHE_HOME", cache, 1);
}

/* Of a module that is not traced: names, and hooks of what the agent takes over. */
static void test_names_only(void **unused)
{
	struct ada_plan *plan = open_plan("/lib/x86_64-linux-gnu/libc.so.6", false);
	const struct ada_plan_header *header = ada_plan_header(plan);
	static const char *const expected[] = {
#define X(id) #id,
		ADA_INTERCEPTS(X)
#undef X
	};

	assert_int_equal(header->flags & ADA_PLAN_DECODED, 0);
	assert_int_equal(header->import_count, 0);
	assert_true(header->function_count > 2000);
	assert_int_equal(header->hook_count, sizeof expected / sizeof *expected);
	for (size_t i = 0; i < header->hook_count; i++) {
		const struct ada_plan_function *function = &ada_plan_functions(plan)[ada_plan_hooks(plan)[i].function];
		const char *name = ada_plan_string(plan, function->name);
		bool found = false;

		assert_true(function->flags & ADA_FUNCTION_INTERCEPT);
		for (size_t k = 0; k < sizeof expected / sizeof *expected; k++)
			found |= strstr(name, expected[k]) ||
				 (!strcmp(expected[k], "_exit") && !strcmp(name, "_Exit")); /* at one address */
		assert_true(found);
	}
	ada_plan_close(plan);
}

static void test_check_finds_damage(void **unused)
{
	struct ada_plan *plan = open_plan(library_path, true);
	uint64_t bytes = ada_plan_bytes(plan);
	struct ada_error error;
	uint8_t *copy = malloc(bytes);

	for (uint64_t length = 0; length < bytes; length += 101) {
		memcpy(copy, ada_plan_header(plan), bytes);
		memset(&error, 0, sizeof error);
		assert_int_equal(ada_plan_check(copy, length, &error), -EBADMSG);
		assert_true(error.text[0]);
	}
	for (uint64_t at = sizeof(struct ada_plan_header); at < bytes; at += 97) {
		memcpy(copy, ada_plan_header(plan), bytes);
		copy[at] ^= 0x10;
		assert_int_equal(ada_plan_check(copy, bytes, NULL), -EBADMSG);
	}
	free(copy);
	ada_plan_close(plan);
}

static int check_again(struct ada_plan_header *copy, uint64_t bytes)
{
	copy->checksum = libdeflate_crc32(0, copy + 1, bytes - sizeof *copy);
	return ada_plan_check(copy, bytes, NULL);
}

/* What a checksum doesn't show: registers that nobody may have, in a plan that is whole. */
static void test_check_knows_registers(void **unused)
{
	struct ada_plan *plan = open_plan(library_path, true);
	uint64_t bytes = ada_plan_bytes(plan);
	struct ada_plan_header *copy = malloc(bytes);
	static const struct {
		uint16_t flags, entry, exit;
		int result;
	} cases[] = {
		{ ADA_HOOK_RED_ZONE | ADA_HOOK_READS_VECTORS, (1 << ADA_REGISTER_COUNT) - 1, 1 << ADA_REGISTER_RCX, 0 },
		{ 0, 0, 1 << ADA_REGISTER_FLAGS, 0 },
		{ 4, 0, 0, -EBADMSG },
		{ 0, 1 << ADA_REGISTER_COUNT, 0, -EBADMSG },
		{ 0, 0, 1 << ADA_REGISTER_COUNT, -EBADMSG },
		{ 0, 0, 1 << ADA_REGISTER_RAX, -EBADMSG },
		{ 0, 0, 1 << ADA_REGISTER_RDX, -EBADMSG },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct ada_plan_import *import;
		struct ada_plan_hook *hook;

		memcpy(copy, ada_plan_header(plan), bytes);
		hook = (void *)((char *)copy + copy->hooks_offset);
		hook->flags = cases[i].flags;
		hook->free_at_entry = cases[i].entry;
		hook->free_at_exit = cases[i].exit;
		assert_int_equal(check_again(copy, bytes), cases[i].result);
		if (cases[i].flags > (ADA_HOOK_RED_ZONE | ADA_HOOK_READS_VECTORS))
			continue;
		memcpy(copy, ada_plan_header(plan), bytes);
		import = (void *)((char *)copy + copy->imports_offset);
		import->free_at_entry = cases[i].entry;
		import->free_at_exit = cases[i].exit;
		assert_int_equal(check_again(copy, bytes), cases[i].result);
	}
	free(copy);
	ada_plan_close(plan);
}

/* How many calls of the plan lie in one function and lead to another. */
static unsigned calls_between(const struct ada_plan *plan, const char *caller, const char *called)
{
	const struct ada_plan_header *header = ada_plan_header(plan);
	const struct ada_plan_function *functions = ada_plan_functions(plan), *from = NULL, *to = NULL;
	unsigned count = 0;

	for (uint32_t i = 0; i < header->function_count; i++) {
		if (!strcmp(ada_plan_string(plan, functions[i].name), caller))
			from = &functions[i];
		if (!strcmp(ada_plan_string(plan, functions[i].name), called))
			to = &functions[i];
	}
	assert_non_null(from);
	assert_non_null(to);
	for (uint32_t i = 0; i < header->call_count; i++) {
		const struct ada_plan_call *call = &calls_of(plan)[i];

		if (header->address_start + call->behind - from->address <= from->size && to->hook == call->hook)
			count++;
	}
	return count;
}

static void test_calls(void **unused)
{
	struct ada_plan *plan = open_plan(library_path, true);

	assert_int_equal(calls_between(plan, "calls_plainly", "jump_plain"), 2);
	assert_int_equal(calls_between(plan, "calls_plainly", "jump_endbr"), 1);
	assert_int_equal(calls_between(plan, "calls_behind_the_entry", "jump_endbr"), 0);
	assert_int_equal(calls_between(plan, "calls_at_once", "jump_plain"), 1); /* the second, which isn't moved */
	assert_int_equal(calls_between(plan, "jumps_into_a_call", "jump_plain"), 0);
	assert_int_equal(calls_between(plan, "calls_among_data", "jump_plain"), 0);
	ada_plan_close(plan);
}

/* What a checksum doesn't show: calls of nothing, or in no order. */
static void test_check_knows_calls(void **unused)
{
	struct ada_plan *plan = open_plan(library_path, true);
	uint64_t bytes = ada_plan_bytes(plan);
	struct ada_plan_header *copy = malloc(bytes);
	struct ada_plan_call *calls;

	for (int i = 0; i < 5; i++) {
		memcpy(copy, ada_plan_header(plan), bytes);
		calls = (void *)((char *)copy + copy->calls_offset);
		assert_true(copy->call_count > 2);
		switch (i) {
		case 1: calls[0].behind = ADA_CALL_BYTES - 1; break;
		case 2: calls[copy->call_count - 1].behind = UINT32_MAX; break;
		case 3: calls[copy->call_count - 1].hook = copy->hook_count; break;
		case 4: calls[1] = calls[0]; break;
		default: break;
		}
		assert_int_equal(check_again(copy, bytes), i ? -EBADMSG : 0);
	}
	free(copy);
	ada_plan_close(plan);
}

static void test_names(void **unused)
{
	assert_int_equal(ada_name_refusal("dlopen"), ADA_REFUSAL_CALLER_LOOKUP);
	assert_int_equal(ada_name_refusal("dlsym@@GLIBC_2.34"), ADA_REFUSAL_CALLER_LOOKUP);
	assert_int_equal(ada_name_refusal("_dl_fixup"), ADA_REFUSAL_CALLER_LOOKUP);
	assert_int_equal(ada_name_refusal("__asan_report_load4"), ADA_REFUSAL_CALLER_LOOKUP);
	assert_int_equal(ada_name_refusal("_ZN6__lsan11DoLeakCheckEv"), ADA_REFUSAL_RUNTIME);
	assert_int_equal(ada_name_refusal("_ZNK11__sanitizer10StackTrace5PrintEv"), ADA_REFUSAL_RUNTIME);
	assert_int_equal(ada_name_refusal("_ZN8__sanity4testEv"), ADA_REFUSAL_NONE);
	assert_int_equal(ada_name_refusal("_setjmp"), ADA_REFUSAL_RETURNS_TWICE);
	assert_int_equal(ada_name_refusal("vfork"), ADA_REFUSAL_RETURNS_TWICE);
	assert_int_equal(ada_name_refusal("swapcontext"), ADA_REFUSAL_STACK_SWITCH);
	assert_int_equal(ada_name_refusal("_start"), ADA_REFUSAL_START);
	assert_int_equal(ada_name_refusal("Builtins_Abort"), ADA_REFUSAL_RUNTIME);
	assert_int_equal(ada_name_refusal("dlopen_all"), ADA_REFUSAL_NONE);
	assert_int_equal(ada_name_refusal("_ZN6dlopenEv"), ADA_REFUSAL_NONE);
	assert_true(ada_name_is_cold("f.cold"));
	assert_true(ada_name_is_cold("f.part.0.cold.12"));
	assert_true(ada_name_is_cold("f.warm"));
	assert_false(ada_name_is_cold("f.coldest"));
	assert_false(ada_name_is_cold("cold"));
	assert_true(ada_name_is_intercept("execve@@GLIBC_2.2.5"));
	assert_false(ada_name_is_intercept("execv"));
}

static void test_refusal_keys(void **unused)
{
	assert_string_equal(ada_refusal_key(ADA_REFUSAL_NONE), "");
	assert_string_equal(ada_refusal_key(ADA_REFUSAL_TOO_SHORT), "too-short");
	assert_string_equal(ada_refusal_key(ADA_REFUSAL_COUNT), "");
	for (unsigned i = 1; i < ADA_REFUSAL_COUNT; i++)
		assert_true(ada_refusal_key(i)[0] && ada_refusal_text(i)[0]);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cache),
		cmocka_unit_test(test_cache_that_cannot_be_written),
		cmocka_unit_test(test_names_only),
		cmocka_unit_test(test_check_finds_damage),
		cmocka_unit_test(test_check_knows_registers),
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_check_knows_calls),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_refusal_keys),
	};
	char command[64];
	int status;

	library_path = argc > 1 ? argv[1] : "";
	if (!mkdtemp(cache))
		return 1;
	setenv("XDG_CACHE_HOME", cache, 1);
	status = cmocka_run_group_tests(tests, NULL, NULL);
	snprintf(command, sizeof command, "rm -r %s", cache);
	return system(command) || status;
}
