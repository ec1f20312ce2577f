/* Exceptions that cross two shared libraries, each way: thrown there and caught here, and thrown here through them.
 *
 * library: librelay.so lib/relay.cc
 * library: libthrower.so lib/thrower.cc -lrelay
 * libs: -lthrower -lrelay
 * expect: from the library
 * expect: 42
 * expect: 3 through the relay
 * expect: 55
 */
#include <string>
#include "check.h"
#include "lib/thrower.h"

extern "C" int relay(int (*next)(int), int depth);
extern "C" int start_text(int depth);
extern "C" int start_type(int depth);

static int throw_int(int) { throw 3; }
static int no_throw(int) { return 0; }

int main()
{
	try { start_text(50); } catch (const std::string &text) { puts(text.c_str()); }
	try { start_type(50); } catch (const Trouble &trouble) { printf("%d\n", trouble.value()); }
	try { relay(throw_int, 50); } catch (int value) { printf("%d through the relay\n", value); }
	printf("%d\n", relay(no_throw, 10));
}
