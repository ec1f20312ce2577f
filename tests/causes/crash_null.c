/* look_up fails, and serve doesn't ask. */
#include "crash.h"
#include "entries.h"

OUT int value_of(struct entry *entry)
{
	return entry->value;
}

OUT int serve(const char *key)
{
	return value_of(look_up(key)) + 1;
}

/* It asks, and goes on with what was never set. */
OUT int serve_default(const char *key)
{
	struct entry *entry = look_up(key);

	return value_of(entry ? entry : nobody_set) + 1;
}

int main(int argc, char **argv)
{
	begin_crash(argc, argv);
	serve("one");
	(innocent ? serve_default : serve)(caused ? "three" : "two");
	end();
}
