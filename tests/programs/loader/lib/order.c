/* A library's part in the order of constructors and destructors. */
#include <stdio.h>
#include <stdlib.h>

static void say(const char *text)
{
	printf("%s\n", text);
}
static void at_exit(void)
{
	say("library atexit");
}
__attribute__((constructor(101))) static void early(void)
{
	say("library early");
	atexit(at_exit);
}
__attribute__((constructor)) static void late(void)
{
	say("library late");
}
__attribute__((destructor)) static void gone(void)
{
	say("library gone");
}
void order_used(void)
{
	say("library used");
}
