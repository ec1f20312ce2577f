/* Calls to where no code is, stack frames written over, writes to constants: the argument says which. MARKs are lines that a test knows. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define OUT __attribute__((noinline, noclone))
#define LONG 0x4141414141414141ul

typedef int (*handler)(int);

static const int limits[4] = { 1, 2, 3, 4 };
static const char *const words[2] = { "first", "second" };
static volatile int sink;
static handler unset;
static int data[64] = { 1 };

OUT static handler look_up(const char *name)
{
	sink = name[0];
	return strcmp(name, "known") ? NULL : abs;
}

OUT static int run_found(const char *name)
{
	handler found = look_up(name);

	return found(sink) + 1; /* MARK found */
}

OUT static int run_given(handler given, int number)
{
	sink = number;
	return given(number) + 1; /* MARK given */
}

/* Null was looked up, too, and is not what is called. */
OUT static int run_unset(const char *name)
{
	sink = !look_up(name);
	return unset(sink) + 1; /* MARK unset */
}

OUT static int run_at(unsigned long address)
{
	return ((handler)address)(sink) + 1; /* MARK at */
}

OUT __attribute__((no_stack_protector)) static void smash(unsigned long word, int count)
{
	volatile unsigned long room[2] = { 0, 0 };

	for (volatile int i = 0; i < count; i++)
		room[i] = word;
	sink = (int)room[1];
}

OUT static void guard(const char *text, size_t bytes)
{
	char room[16];

	for (volatile size_t i = 0; i < bytes; i++)
		room[i] = text[i % 4];
	sink = room[bytes % 16];
}

OUT static void put(int *where, int value)
{
	*where = value; /* MARK put */
	sink = value;
}

OUT static void put_word(const char **where, const char *word)
{
	*where = word;
	sink = 1;
}

OUT static void put_text(char *where, const char *text)
{
	strcpy(where, text);
	sink = *where;
}

OUT static void let_go(void *page)
{
	munmap(page, 4096);
	sink = 1;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	int *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static char text[32];

	sink = run_found("known") + run_given(abs, 3);
	smash(1, 2);
	guard("abcd", 16);
	put(data, 4);
	put_text(text, "plain");
	if (!strcmp(how, "found"))
		sink = run_found("other"); /* MARK main-found */
	if (!strcmp(how, "given"))
		sink = run_given(look_up("other"), 3);
	if (!strcmp(how, "unset"))
		sink = run_unset("other");
	if (!strcmp(how, "garbage"))
		sink = run_at(0x12345678);
	if (!strcmp(how, "long"))
		sink = run_at(LONG);
	if (!strcmp(how, "data"))
		sink = run_at((unsigned long)data);
	if (!strcmp(how, "return"))
		smash(LONG, 8);
	if (!strcmp(how, "guard"))
		guard("abcd", 64);
	if (!strcmp(how, "constant"))
		put((int *)&limits[2], 7);
	if (!strcmp(how, "relocated"))
		put_word((const char **)&words[1], "third");
	if (!strcmp(how, "literal"))
		put_text((char *)"a literal", "other");
	if (!strcmp(how, "unmapped")) {
		sink = page[40];
		let_go(page);
		put(page + 40, 7);
	}
	if (!strcmp(how, "remapped")) {
		let_go(page);
		put(mmap(page, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0), 7);
	}
	if (!strcmp(how, "page"))
		put(page, 7);
	if (!strcmp(how, "read"))
		put((int *)0x12345678, 7);
	if (!strcmp(how, "word"))
		put((int *)LONG, 7);
	printf("%d\n", sink);
	return 0;
}
