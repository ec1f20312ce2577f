/* What kind of file it is, and one clear line where it is none that can be planned. argv[1]: a library built from forms.S. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "../test.h"
#include "base/file.h"
#include "elf/file/demangle.h"
#include "elf/file/elf.h"
#include "elf/file/frames.h"
#include "elf/file/symbols.h"

static const char *library_path;

static void expect_error(const void *bytes, size_t length, const char *message)
{
	struct ada_error error = { 0 };
	struct ada_elf *elf;

	assert_int_equal(ada_elf_open_memory(&elf, bytes, length, "x", &error), -ENOEXEC);
	assert_null(elf);
	assert_non_null(strstr(error.text, message));
	assert_null(strchr(error.text, '\n'));
}

static void test_what_it_is_instead(void **unused)
{
	size_t length;
	char *bytes;

	expect_error("", 0, "not an ELF file");
	expect_error("hello, world, this is text", 26, "not an ELF file");
	expect_error("#!/bin/sh\n", 10, "script");
	assert_int_equal(ada_file_read(library_path, &bytes, &length, NULL), 0);
	expect_error(bytes, 20, "corrupt");
	bytes[EI_CLASS] = ELFCLASS32;
	expect_error(bytes, length, "32-bit");
	bytes[EI_CLASS] = ELFCLASS64;
	bytes[offsetof(Elf64_Ehdr, e_machine)] = EM_AARCH64 & 0xff;
	expect_error(bytes, length, "another machine");
	bytes[offsetof(Elf64_Ehdr, e_machine)] = EM_X86_64;
	bytes[offsetof(Elf64_Ehdr, e_type)] = ET_REL;
	expect_error(bytes, length, "object file");
	bytes[offsetof(Elf64_Ehdr, e_type)] = ET_DYN;
	expect_error(bytes, length / 4, "corrupt");
	memset(bytes + offsetof(Elf64_Ehdr, e_phoff), 0xff, 8);
	expect_error(bytes, length, "no program headers");
	free(bytes);
}

static void test_open_errors(void **unused)
{
	struct ada_error error = { 0 };
	struct ada_elf *elf;

	assert_int_equal(ada_elf_open(&elf, "/nonexistent", &error), -ENOENT);
	assert_non_null(strstr(error.text, "/nonexistent"));
	assert_int_equal(ada_elf_open(&elf, "/", NULL), -EISDIR);
	assert_int_equal(ada_elf_open(&elf, "/dev/null", NULL), -ENOEXEC);
}

/* A separate debug file says where its segments were, and their bytes lie in no file: there is nothing at their addresses. */
static void test_segments_without_bytes(void **unused)
{
	size_t length;
	char *bytes;
	struct ada_elf *elf;
	uint64_t rest;
	Elf64_Ehdr *header;
	Elf64_Shdr *sections;
	Elf64_Phdr *segments;

	assert_int_equal(ada_file_read(library_path, &bytes, &length, NULL), 0);
	header = (Elf64_Ehdr *)bytes;
	sections = (Elf64_Shdr *)(bytes + header->e_shoff);
	segments = (Elf64_Phdr *)(bytes + header->e_phoff);

	for (unsigned i = 0; i < header->e_shnum; i++)
		if (sections[i].sh_flags & SHF_EXECINSTR)
			sections[i].sh_type = SHT_NOBITS;
	for (unsigned i = 0; i < header->e_phnum; i++)
		if (segments[i].p_type == PT_LOAD)
			segments[i].p_offset = length;
	assert_int_equal(ada_elf_open_memory(&elf, bytes, length, "x", NULL), 0);
	assert_int_equal(elf->kind, ADA_ELF_DEBUG);
	for (size_t i = 0; i < elf->segments.count; i++) {
		assert_non_null(ada_elf_segment_of(elf, elf->segments.items[i].address + 1));
		assert_null(ada_elf_at(elf, elf->segments.items[i].address + 1, 1));
		assert_null(ada_elf_rest(elf, elf->segments.items[i].address + 1, &rest));
		assert_int_equal(rest, 0);
	}
	ada_elf_close(elf);
	free(bytes);
}

static void expect_kind(const char *path, enum ada_elf_kind kind)
{
	struct ada_elf *elf;

	assert_int_equal(ada_elf_open(&elf, path, NULL), 0);
	assert_int_equal(elf->kind, kind);
	assert_int_equal(ada_elf_check_program(elf, NULL), 0);
	ada_elf_close(elf);
}

static void test_kinds(void **unused)
{
	struct ada_elf *elf;

	expect_kind("/bin/sh", ADA_ELF_PIE);
	expect_kind("/lib/x86_64-linux-gnu/libc.so.6", ADA_ELF_SHARED); /* has an interpreter too */
	expect_kind(library_path, ADA_ELF_SHARED);
	assert_int_equal(ada_elf_open(&elf, "/bin/sh", NULL), 0);
	assert_string_equal(elf->interp, "/lib64/ld-linux-x86-64.so.2");
	assert_int_equal(elf->build_id_bytes, 20);
	assert_string_equal(elf->needed.items[0], "libc.so.6");
	assert_null(ada_elf_at(elf, elf->address_end, 1));
	assert_non_null(ada_elf_at(elf, elf->address_start, 4));
	ada_elf_close(elf);
}

static void test_script(void **unused)
{
	char interpreter[16];

	assert_true(ada_elf_script("/usr/bin/ldd", interpreter, sizeof interpreter));
	assert_string_equal(interpreter, "/bin/bash");
	assert_false(ada_elf_script("/usr/bin/ldd", interpreter, 4));
	assert_false(ada_elf_script("/bin/sh", interpreter, sizeof interpreter));
}

static const struct ada_elf_symbol *symbol(const struct ada_elf_symbols *symbols, const char *name)
{
	for (size_t i = 0; i < symbols->count; i++)
		if (!strcmp(symbols->items[i].name, name))
			return &symbols->items[i];
	return NULL;
}

static void test_symbols_and_frames(void **unused)
{
	struct ada_elf_symbols symbols = { 0 };
	struct ada_elf_frames frames = { 0 };
	struct ada_elf_addresses pads = { 0 };
	const struct ada_elf_frame *frame;
	struct ada_elf *elf;

	assert_int_equal(ada_elf_open(&elf, library_path, NULL), 0);
	assert_int_equal(ada_elf_symbols_read(elf, &symbols), 0);
	assert_int_equal(ada_elf_frames_read(elf, &frames), 0);
	assert_int_equal(symbol(&symbols, "chosen")->kind, ADA_SYMBOL_IFUNC);
	frame = ada_elf_frames_find(&frames, symbol(&symbols, "jump_plain")->address);
	assert_true(frame->entry);
	assert_int_equal(frame->size, symbol(&symbols, "jump_plain")->size);
	assert_false(ada_elf_frames_find(&frames, symbol(&symbols, "no_entry")->address)->entry);
	assert_true(ada_elf_frames_entry_at(elf, &frames, symbol(&symbols, "second_entry")->address));
	assert_false(ada_elf_frames_entry_at(elf, &frames, symbol(&symbols, "inner_entry")->address));
	frame = ada_elf_frames_find(&frames, symbol(&symbols, "landing_pad")->address);
	assert_int_equal(ada_elf_landing_pads(elf, frame, &pads), 0);
	assert_int_equal(pads.count, 1);
	assert_int_equal(pads.items[0], frame->start + 2);
	ada_array_free(&symbols);
	ada_array_free(&frames);
	ada_array_free(&pads);
	ada_elf_close(elf);
}

static void test_demangle(void **unused)
{
	char *name = ada_elf_demangle("_ZNSt6vectorIiSaIiEE9push_backEOi");

	assert_string_equal(name, "std::vector<int, std::allocator<int> >::push_back(int&&)");
	free(name);
	name = ada_elf_demangle("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE");
	assert_non_null(strstr(name, "core::fmt::Write::write_fmt"));
	free(name);
	assert_null(ada_elf_demangle("main"));
	assert_null(ada_elf_demangle("_start"));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_it_is_instead),
		cmocka_unit_test(test_open_errors),
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_segments_without_bytes),
		cmocka_unit_test(test_script),
		cmocka_unit_test(test_symbols_and_frames),
		cmocka_unit_test(test_demangle),
	};

	library_path = argc > 1 ? argv[1] : "";
	return cmocka_run_group_tests(tests, NULL, NULL);
}
