/* As crash_null.c, but who passes the null on jumps to where it crashes, and has left by then. */
#include "crash.h"
#include "entries.h"

OUT int value_of(struct entry *entry)
{
	return entry->value;
}

OUT int relay(struct entry *entry)
{
	return value_of(entry);
}

OUT int serve(const char *key)
{
	return value_of(look_up(key));
}

OUT int serve_twice(const char *key)
{
	return relay(look_up(key));
}

/* It asks, and goes on with what was never set. */
OUT int serve_default(const char *key)
{
	struct entry *entry = look_up(key);

	return value_of(entry ? entry : nobody_set);
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
	int (*const ways[])(const char *) = { serve, serve_twice, serve_default, serve_other };
	int way = atoi(argv[2]);

	begin_crash(argc, argv);
	ways[way]("one");
	ways[way](caused ? "three" : "two");
	end();
}
