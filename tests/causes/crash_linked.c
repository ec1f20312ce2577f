/* As crash_tail.c, but what crashes is a library's, and the jump to it goes through the procedure linkage table (-fPIC -shared), or past it
 * (-fno-plt). With LIBRARY that library is made: its value_of crashes, and its look_up may fail. */
#ifdef LIBRARY
#include <stddef.h>
#include <string.h>

struct entry {
	int before, value;
};
static struct entry known;

int value_of(const struct entry *entry)
{
	return entry->value;
}

int check(const struct entry *entry)
{
	return entry == &known;
}

struct entry *look_up(const char *key)
{
	return strcmp(key, "three") ? &known : NULL;
}
#else
#include "crash.h"

struct entry;
int value_of(const struct entry *entry);
int check(const struct entry *entry);
struct entry *look_up(const char *key);

static struct entry *volatile nobody_set;

OUT int serve(const char *key)
{
	return value_of(look_up(key));
}

/* Which of the two jumps was gone nobody recorded: both have it. */
OUT int serve_or_check(const char *key)
{
	struct entry *entry = look_up(key);

	return key[0] == 'x' ? check(entry) : value_of(entry);
}

/* What it asked for is null, too, and not what it passes on. */
OUT int serve_other(const char *key)
{
	struct entry *other = nobody_set;

	look_up(key);
	return value_of(other);
}

int main(int argc, char **argv)
{
	int (*const ways[])(const char *) = { serve, serve_or_check, serve_other };
	int way = atoi(argv[2]);

	begin_crash(argc, argv);
	if (way < 2)
		ways[way]("one");
	ways[way](caused ? "three" : "two");
	end();
}
#endif
