/* The other half: throws its own type, and std's. */
#include <string>
#include "thrower.h"

extern "C" int relay(int (*next)(int), int depth);
static int throw_text(int) { throw std::string("from the library"); }
static int throw_type(int) { throw Trouble(42); }
int Trouble::value() const { return number; }
extern "C" int start_text(int depth) { return relay(throw_text, depth) + 1; }
extern "C" int start_type(int depth) { return relay(throw_type, depth) + 1; }
