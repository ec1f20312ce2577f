/* The parts of the agent's life that need no traced program: strings, symbols, environment, images, plans, text ranges. */
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include "agent/life/life.h"

#define AGENT "/opt/ada/libada-agent.so"

static void copies_and_compares(void **state)
{
	char text[16] = "0123456789", other[4];

	memmove(text + 2, text, 8);
	assert_memory_equal(text, "0101234567", 10);
	memmove(text, text + 2, 8);
	assert_memory_equal(text, "0123456767", 10);
	assert_int_equal(ada_string_copy(other, sizeof other, "abcdef"), 3);
	assert_memory_equal(other, "abc", 4);
	assert_true(ada_string_begins("abc", "ab") && !ada_string_begins("a", "ab") && ada_string_begins("", ""));
	assert_true(ada_string_equal("", "") && !ada_string_equal("a", "") && !ada_string_equal("ab", "aB"));
	assert_true(memcmp("a\0b", "a\0c", 3) < 0 && memcmp("b", "a", 1) > 0 && !memcmp("x", "y", 0));
}

static void peeks_only_where_memory_is(void **state)
{
	char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), buffer[32];

	munmap(pages + 4096, 4096);
	assert_int_equal(ada_sys_peek(buffer, (uint64_t)pages + 4096 - 32, 32), 32);
	assert_true(ada_sys_peek(buffer, (uint64_t)pages + 4096, 32) < 0);
	munmap(pages, 4096);
}

static void libc_symbols(struct ada_symbols *symbols)
{
	struct link_map *map = dlopen("libc.so.6", RTLD_NOW);

	ada_symbols_read(symbols, map->l_ld, map->l_addr);
}

static void finds_what_the_loader_finds(void **state)
{
	static const char *const names[] = { "getppid", "execve", "prctl", "sigaction", "printf", "longjmp", "qsort" };
	struct ada_symbols symbols;

	libc_symbols(&symbols);
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		const Elf64_Sym *symbol = ada_symbols_find(&symbols, names[i], "");

		assert_non_null(symbol);
		assert_ptr_equal(symbols.bias + symbol->st_value, dlsym(RTLD_NEXT, names[i]));
	}
	assert_null(ada_symbols_find(&symbols, "no_such_function", ""));
	assert_null(ada_symbols_find(&symbols, "environ", "")); /* data */
}

static void tells_versions_apart(void **state)
{
	struct ada_symbols symbols;
	const Elf64_Sym *before, *now;

	libc_symbols(&symbols);
	before = ada_symbols_find(&symbols, "memcpy", "GLIBC_2.2.5");
	now = ada_symbols_find(&symbols, "memcpy", "GLIBC_2.14");
	assert_true(before && now && before->st_value != now->st_value);
	assert_ptr_equal(ada_symbols_find(&symbols, "memcpy", ""), now);
	assert_null(ada_symbols_find(&symbols, "memcpy", "GLIBC_9.9"));
}

/* One after another, as the agent does in a process: take from the environment, later give to an exec. */
static void takes_and_gives_the_environment(void **state)
{
	char one[] = "A=1", socket[] = "ADA_SOCKET=/tmp/s", preload[] = "LD_PRELOAD=/x.so:" AGENT ":/y.so", two[] = "LD_PRELOADED=2";
	char *environment[] = { one, socket, preload, two, NULL };
	char *plain[] = { one, two, NULL };
	uint64_t words[128];
	char **given = (char **)words;

	assert_true(ada_environment_take(environment));
	assert_string_equal(environment[0], "A=1");
	assert_string_equal(environment[1], "LD_PRELOAD=/x.so:/y.so");
	assert_string_equal(environment[2], "LD_PRELOADED=2");
	assert_null(environment[3]);

	assert_true(ada_environment_words(environment) <= 128);
	ada_environment_give(environment, words, "LD_PRELOAD=" AGENT, &ada_heir_none);
	assert_string_equal(given[0], "ADA_SOCKET=/tmp/s");
	assert_string_equal(given[1], "A=1");
	assert_string_equal(given[2], "LD_PRELOAD=" AGENT ":/x.so:/y.so");
	assert_string_equal(given[3], "LD_PRELOADED=2");
	assert_null(given[4]);
	assert_true((char *)given[2] + strlen(given[2]) < (char *)(words + ada_environment_words(environment)));

	ada_environment_give(plain, words, "LD_PRELOAD=" AGENT, &ada_heir_none);
	assert_string_equal(given[1], "LD_PRELOAD=" AGENT);
	assert_null(given[4]);
	ada_environment_give(NULL, words, "LD_PRELOAD=" AGENT, &ada_heir_none);
	assert_string_equal(given[1], "LD_PRELOAD=" AGENT);
	assert_null(given[2]);
}

static void image_write(const char *path, const void *bytes, size_t count, mode_t mode)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, count, file), count);
	fclose(file);
	chmod(path, mode);
}

static void gives_the_agent_to_whom_it_helps(void **state)
{
	struct {
		Elf64_Ehdr elf;
		Elf64_Phdr segment;
		char loader[32];
	} image = {
		.elf = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64 },
			 .e_machine = EM_X86_64,
			 .e_phentsize = sizeof(Elf64_Phdr),
			 .e_phnum = 1,
			 .e_phoff = sizeof(Elf64_Ehdr) },
		.segment = { .p_type = PT_INTERP, .p_offset = offsetof(typeof(image), loader), .p_filesz = 32 },
		.loader = "/lib64/ld-linux-x86-64.so.2",
	};
	static const char *const names[] = { "dynamic", "musl",	  "cut-loader",	      "setuid",		  "static", "cut",
					     "narrow",	"script", "script-of-static", "script-of-itself", "empty" };
	char directory[] = "/tmp/ada-image-XXXXXX";

	assert_non_null(mkdtemp(directory));
	assert_int_equal(chdir(directory), 0);
	image_write("dynamic", &image, sizeof image, 0700);
	image_write("setuid", &image, sizeof image, 04700);
	image_write("cut-loader", &image, sizeof image - 8, 0700);
	strcpy(image.loader, "/lib/ld-musl-x86_64.so.1");
	image_write("musl", &image, sizeof image, 0700);
	image.segment.p_type = PT_LOAD;
	image_write("static", &image, sizeof image, 0700);
	image_write("cut", &image, sizeof image.elf, 0700);
	image.elf.e_ident[EI_CLASS] = ELFCLASS32;
	image_write("narrow", &image, sizeof image, 0700);
	image_write("script", "#!dynamic -x\n", 13, 0700);
	image_write("script-of-static", "#! static", 9, 0700);
	image_write("script-of-itself", "#!script-of-itself\n", 19, 0700);
	image_write("empty", "", 0, 0700);

	assert_int_equal(ada_image_kind(AT_FDCWD, "dynamic", 0), ADA_HEIR_EXEC);
	assert_int_equal(ada_image_kind(AT_FDCWD, "script", 0), ADA_HEIR_EXEC);
	assert_int_equal(ada_image_kind(AT_FDCWD, "missing", 0), ADA_HEIR_EXEC);
	assert_int_equal(ada_image_kind(AT_FDCWD, "script-of-itself", 0), ADA_HEIR_EXEC); /* the kernel refuses it, not we */
	assert_int_equal(ada_image_kind(AT_FDCWD, "empty", 0), ADA_HEIR_EXEC);
	assert_int_equal(ada_image_kind(AT_FDCWD, "setuid", 0), ADA_HEIR_SETID);
	assert_int_equal(ada_image_kind(AT_FDCWD, "static", 0), ADA_HEIR_STATIC);
	assert_int_equal(ada_image_kind(AT_FDCWD, "musl", 0), ADA_HEIR_LIBC);
	assert_int_equal(ada_image_kind(AT_FDCWD, "cut-loader", 0), ADA_HEIR_LIBC);
	assert_int_equal(ada_image_kind(AT_FDCWD, "cut", 0), ADA_HEIR_STATIC);
	assert_int_equal(ada_image_kind(AT_FDCWD, "narrow", 0), ADA_HEIR_MACHINE);
	assert_int_equal(ada_image_kind(AT_FDCWD, "script-of-static", 0), ADA_HEIR_STATIC);
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		unlink(names[i]);
	assert_int_equal(chdir("/"), 0);
	rmdir(directory);
}

static void accepts_only_plans_that_fit(void **state)
{
	struct {
		struct ada_plan_header header;
		struct ada_plan_function functions[2];
		char strings[8];
	} plan = {
		.header = { .magic = ADA_PLAN_MAGIC, .version = ADA_PLAN_VERSION, .total_bytes = sizeof plan, .function_count = 2,
			    .functions_offset = sizeof plan.header, .strings_offset = offsetof(typeof(plan), strings),
			    .strings_bytes = 8 },
		.functions = { { .address = 16, .flags = ADA_FUNCTION_IFUNC, .name = 1 }, { .address = 16, .name = 99 } },
		.strings = "\0abc",
	}, bad;

	assert_true(ada_plan_fits(&plan.header, sizeof plan));
	assert_int_equal(ada_plan_find(&plan.header, 16, true), 0);
	assert_int_equal(ada_plan_find(&plan.header, 16, false), 1);
	assert_int_equal(ada_plan_find(&plan.header, 17, false), ADA_PLAN_NONE);
	assert_string_equal(ada_plan_name(&plan.header, 1), "abc");
	assert_string_equal(ada_plan_name(&plan.header, 99), ""); /* out of range */
	assert_false(ada_plan_fits(&plan.header, sizeof plan - 8));
	assert_false(ada_plan_fits(&plan.header, 8));
#define BREAKS(change) (bad = plan, bad.change, assert_false(ada_plan_fits(&bad.header, sizeof bad)))
	BREAKS(header.magic[0] = 'x');
	BREAKS(header.version++);
	BREAKS(header.function_count = UINT32_MAX);
	BREAKS(header.functions_offset = UINT64_MAX - 7);
	BREAKS(header.functions_offset += 1);
	BREAKS(header.hook_count = 1 << 20);
	BREAKS(header.hook_count = 1); /* without origins */
	BREAKS(header.origin_count = UINT32_MAX);
	BREAKS(header.call_count = UINT32_MAX);
	BREAKS(header.calls_offset = 4);
	BREAKS(header.bodies_bytes = UINT64_MAX);
	BREAKS(header.strings_bytes = 0);
	BREAKS(strings[7] = 'x');
#undef BREAKS
}

static void knows_text_from_other_memory(void **state)
{
	size_t bytes = 4096 + ADA_MODULES_MAX * sizeof(struct ada_shm_module);
	struct ada_shm *shm = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	uint64_t auxiliary[] = { AT_PHDR, getauxval(AT_PHDR), AT_PHNUM, getauxval(AT_PHNUM), AT_NULL };
	uint64_t text = (uint64_t)dlsym(RTLD_NEXT, "printf");
	int local;

	shm->modules_offset = 4096;
	ada_core_attach(shm);
	assert_false(ada_module_text_is_hookable(text)); /* nothing is published yet */
	assert_int_equal(ada_module_scan(NULL, auxiliary), 0);
	assert_true(shm->module_count > 3);
	assert_false(ada_module_changed());
	assert_true(ada_module_text_is_hookable(text));
	assert_false(ada_module_text_is_hookable((uint64_t)libc_symbols)); /* the agent's module, here */
	assert_false(ada_module_text_is_hookable((uint64_t)&local));
	assert_false(ada_module_text_is_hookable((uint64_t)shm));
	assert_false(ada_module_text_is_hookable(0));
	assert_non_null(strstr(((struct ada_shm_module *)((char *)shm + 4096))->path, "test_parts"));
	assert_ptr_equal(ada_module_of((uint64_t)libc_symbols), ada_module_at(0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copies_and_compares),
		cmocka_unit_test(peeks_only_where_memory_is),
		cmocka_unit_test(finds_what_the_loader_finds),
		cmocka_unit_test(tells_versions_apart),
		cmocka_unit_test(takes_and_gives_the_environment),
		cmocka_unit_test(gives_the_agent_to_whom_it_helps),
		cmocka_unit_test(accepts_only_plans_that_fit),
		cmocka_unit_test(knows_text_from_other_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
