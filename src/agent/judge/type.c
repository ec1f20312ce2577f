/* Compares the name of a thrown type, as the C++ ABI has it, with the glob of an exception rule.
 *
 * __cxa_throw(object, const std::type_info *type, destructor): the name is the second word of the type. The arguments may be anything, so
 * their memory is only read through the kernel. Other throws (a Rust panic, a rethrow) have no type: an empty glob fits them.
 */
#include "abi/page.h"
#include "agent/ground/sys.h"
#include "agent/judge/parts.h"

/* Reads a string, up to the end of a page where the next page is missing. Always ends in 0; false: nothing there. */
static bool string_peek(char *string, size_t room, uint64_t address)
{
	long bytes = ada_sys_peek(string, address, room - 1);
	uint64_t left = ADA_PAGE_BYTES - address % ADA_PAGE_BYTES;

	if (ada_sys_failed(bytes) && left < room - 1)
		bytes = ada_sys_peek(string, address, left);
	string[ada_sys_failed(bytes) ? 0 : bytes] = 0;
	return *string;
}

static bool glob_matches(const char *pattern, size_t room, const char *text)
{
	const char *end = pattern + room, *star = NULL, *star_text = NULL;

	for (;;) {
		bool more = pattern < end && *pattern;

		if (more && *pattern == '*') {
			star = ++pattern;
			star_text = text;
		} else if (*text && more && (*pattern == '?' || *pattern == *text)) {
			pattern++, text++;
		} else if (!*text && !more) {
			return true;
		} else if (star && *star_text) {
			pattern = star; /* the star takes one more */
			text = ++star_text;
		} else {
			return false;
		}
	}
}

struct plain {
	char *at, *end;
};

static bool text_put(struct plain *plain, const char *text, size_t bytes)
{
	if ((size_t)(plain->end - plain->at) <= bytes)
		return false;
	memcpy(plain->at, text, bytes);
	plain->at += bytes;
	*plain->at = 0;
	return true;
}

/* <length><name>: returns what follows, or NULL. */
static const char *put_name(struct plain *plain, const char *mangled)
{
	size_t bytes = 0;

	for (; *mangled >= '0' && *mangled <= '9' && bytes < ADA_TYPE_NAME_BYTES; mangled++)
		bytes = bytes * 10 + (*mangled - '0');
	for (size_t i = 0; i < bytes; i++)
		if (!mangled[i])
			return NULL;
	return bytes && text_put(plain, mangled, bytes) ? mangled + bytes : NULL;
}

/* False: not one of the simple forms. */
static bool put_plain(char *text, size_t room, const char *mangled)
{
	static const char builtins[][8] = {
		"i", "int", "j", "unsigned", "l", "long", "c", "char", "b", "bool", "d", "double", "f", "float"
	};
	struct plain plain = { text, text + room };
	bool nested = *mangled == 'N', first = true;

	for (size_t i = 0; i < sizeof builtins / sizeof builtins[0]; i += 2)
		if (ada_string_equal(mangled, builtins[i]))
			return text_put(&plain, builtins[i + 1], ada_string_bytes(builtins[i + 1]));
	if (ada_string_equal(mangled, "PKc"))
		return text_put(&plain, "char const*", 11);
	mangled += nested;
	if (mangled[0] == 'S' && mangled[1] == 't') {
		mangled += 2;
		if (!text_put(&plain, "std", 3))
			return false;
		first = false;
	}
	do {
		if (!first && !text_put(&plain, "::", 2))
			return false;
		first = false;
		mangled = put_name(&plain, mangled);
	} while (mangled && nested && *mangled >= '0' && *mangled <= '9');
	return mangled && ada_string_equal(mangled, nested ? "E" : "");
}

bool ada_type_matches(const struct ada_judged *event, const char *pattern, size_t room, struct ada_type_names *names)
{
	char *mangled = names->mangled;
	uint64_t name = 0;

	if (!*pattern)
		return true;
	if (!event->registers || ada_quiet() || ada_sys_peek(&name, event->registers->rsi + 8, sizeof name) != sizeof name ||
	    !string_peek(mangled, sizeof names->mangled, name))
		return false;
	name = mangled[0] == '*'; /* compared by address only */
	return glob_matches(pattern, room, mangled + name) ||
	       (put_plain(names->plain, sizeof names->plain, mangled + name) && glob_matches(pattern, room, names->plain));
}
