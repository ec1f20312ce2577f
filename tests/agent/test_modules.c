/* The table of modules against a loader's list of our own: full, beyond full, and what comes and goes meanwhile. */
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <cmocka.h>
#include "agent/life/life.h"

#define PAGE 4096ull
#define MAPS 5000
#define STEP 100

struct r_debug _r_debug; /* instead of the loader's */

struct file {
	Elf64_Ehdr header;
	Elf64_Phdr segments[2];
	Elf64_Nhdr note;
	char name[4];
	uint32_t build_id;
};

static struct link_map maps[MAPS];
static Elf64_Dyn no_dynamic[1];
static uint8_t *memory; /* a page each, the first at the end, as mmap has it */
static struct ada_shm *shm;

static struct file *file_of(uint32_t number)
{
	return (struct file *)(memory + (MAPS - 1 - number) * PAGE);
}

/* Another file at its place. */
static void file_make(uint32_t number, uint32_t build_id)
{
	struct file *file = file_of(number);

	*file = (struct file){ .header = { .e_ident = ELFMAG,
					   .e_phoff = offsetof(struct file, segments),
					   .e_phnum = 2,
					   .e_phentsize = sizeof(Elf64_Phdr) },
			       .segments = { { .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_memsz = PAGE },
					     { .p_type = PT_NOTE,
					       .p_vaddr = offsetof(struct file, note),
					       .p_memsz = sizeof *file - offsetof(struct file, note) } },
			       .note = { 4, 4, NT_GNU_BUILD_ID },
			       .name = "GNU",
			       .build_id = build_id };
	maps[number] = (struct link_map){ .l_addr = (uint64_t)file, .l_name = (char *)"/lib/module.so", .l_ld = no_dynamic };
}

/* So many of them are loaded; 0: not `without`. */
static void list(uint32_t count, uint32_t without)
{
	struct link_map *last = NULL;

	for (uint32_t i = 0; i < count; i++) {
		if (i && i == without)
			continue;
		maps[i].l_prev = last;
		if (last)
			last->l_next = &maps[i];
		last = &maps[i];
	}
	last->l_next = NULL;
	_r_debug.r_map = maps;
	_r_debug.r_state = RT_CONSISTENT;
}

static void scan(bool changed)
{
	uint64_t auxiliary[] = { AT_PHDR, getauxval(AT_PHDR), AT_PHNUM, getauxval(AT_PHNUM), AT_NULL };

	assert_int_equal(ada_module_changed(), changed);
	assert_int_equal(ada_module_scan(NULL, shm->module_count ? NULL : auxiliary), 0);
	assert_false(ada_module_changed());
}

static int begin(void **state)
{
	size_t bytes = PAGE + ADA_MODULES_MAX * sizeof(struct ada_shm_module);

	shm = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	memory = mmap(NULL, MAPS * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	shm->modules_offset = PAGE;
	ada_core_attach(shm);
	for (uint32_t i = 0; i < MAPS; i++)
		file_make(i, i);
	return 0;
}

/* Those that find it full are left alone, each is counted once, and asked for no more. Looking at thousands takes no longer than it must. */
static void a_full_table_costs_who_comes_late(void **state)
{
	for (uint32_t count = STEP; count <= MAPS; count += STEP) {
		list(count, 0);
		scan(true);
		assert_int_equal(shm->module_count, count < ADA_MODULES_MAX ? count : ADA_MODULES_MAX);
		assert_int_equal(shm->modules_refused, count < ADA_MODULES_MAX ? 0 : count - ADA_MODULES_MAX);
	}
	scan(false);
	assert_int_equal(shm->modules_refused, MAPS - ADA_MODULES_MAX);
	for (uint32_t i = 1; i < MAPS; i++)
		assert_int_equal(ada_module_text_is_hookable((uint64_t)file_of(i)), i < ADA_MODULES_MAX);
	for (uint32_t id = 0; id < ADA_MODULES_MAX; id++) {
		assert_int_equal(ada_module_entry(id)->present, 1);
		assert_int_equal(ada_module_entry(id)->base, maps[id].l_addr);
	}
}

/* It is neither counted again nor missed. */
static void who_came_late_goes(void **state)
{
	list(MAPS, MAPS - 7);
	scan(true);
	assert_int_equal(shm->modules_refused, MAPS - ADA_MODULES_MAX);
	for (uint32_t id = 0; id < ADA_MODULES_MAX; id++)
		assert_int_equal(ada_module_entry(id)->present, 1);
	list(MAPS, 0); /* the next one has its place in the list's memory */
	scan(true);
	assert_int_equal(shm->modules_refused, MAPS - ADA_MODULES_MAX + 1);
}

/* A known one goes, the others stay known; what comes in its place finds no entry, wherever it lies. */
static void a_known_one_goes(void **state)
{
	for (uint32_t gone = 1; gone < ADA_MODULES_MAX; gone += 500) {
		uint32_t refused = shm->modules_refused;

		list(MAPS, gone);
		scan(true);
		assert_int_equal(ada_module_entry(gone)->present, 2);
		assert_int_equal(ada_module_entry(gone + 1)->present, 1);
		assert_false(ada_module_text_is_hookable((uint64_t)file_of(gone)));
		assert_true(ada_module_text_is_hookable((uint64_t)file_of(gone + 1)));
		file_make(gone, MAPS + gone);
		list(MAPS, 0);
		scan(true);
		assert_int_equal(ada_module_entry(gone)->present, 2);
		assert_int_equal(shm->modules_refused, refused + 1);
		assert_int_equal(shm->module_count, ADA_MODULES_MAX);
	}
}

/* A child has its parent's table, and lacks what that lacks. */
static void a_child_lacks_what_its_parent_lacks(void **state)
{
	struct ada_shm *child = mmap(NULL, PAGE + ADA_MODULES_MAX * sizeof(struct ada_shm_module), PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	child->modules_offset = PAGE;
	ada_module_copy_table(child, shm);
	assert_int_equal(child->module_count, ADA_MODULES_MAX);
	assert_int_equal(child->modules_refused, MAPS - ADA_MODULES_MAX + (ADA_MODULES_MAX + 498) / 500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_full_table_costs_who_comes_late),
		cmocka_unit_test(who_came_late_goes),
		cmocka_unit_test(a_known_one_goes),
		cmocka_unit_test(a_child_lacks_what_its_parent_lacks),
	};

	return cmocka_run_group_tests(tests, begin, NULL);
}
