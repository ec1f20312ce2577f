/* The agent's two environment variables: taken out before the program's first instruction, put back at exec.
 *
 * In place, in the array that the kernel made: the program, libc's environ and main's third argument all see the same one.
 * The order of what remains is the user's own, so that a program that prints its environment prints what it would untraced.
 */
#include <fcntl.h>
#include "agent/life.h"
#include "agent/sys.h"

#define PRELOAD "LD_PRELOAD="
#define SOCKET ADA_ENV_SOCKET "="

static char socket_entry[sizeof SOCKET + 108];
static char preload_entry[sizeof PRELOAD + 4096];		/* ours alone */

static bool is_separator(char c)
{
	return c == ':' || c == ' ';
}

/* Is the text up to the next separator the agent's path? The path's own file name decides: there is one agent. */
static size_t agent_entry_bytes(const char *entry)
{
	static const char name[] = "libada-agent.so";
	size_t bytes = 0, start = 0;

	for (; entry[bytes] && !is_separator(entry[bytes]); bytes++)
		if (entry[bytes] == '/')
			start = bytes + 1;
	return bytes - start == sizeof name - 1 && !memcmp(entry + start, name, sizeof name - 1) ? bytes : 0;
}

/* Cuts the agent out of "LD_PRELOAD=...". False: nothing else is left in it. */
static bool preload_cut(char *variable)
{
	char *value = variable + sizeof PRELOAD - 1, *at = value;

	while (*at) {
		size_t bytes = agent_entry_bytes(at);

		if (bytes) {
			if (!preload_entry[0]) {
				memcpy(preload_entry, PRELOAD, sizeof PRELOAD - 1);
				ada_string_copy(preload_entry + sizeof PRELOAD - 1,
						bytes + 1 < 4096 ? bytes + 1 : 4096, at);
			}
			if (at[bytes])				/* one separator goes with it */
				bytes++;
			else if (at > value)
				at--, bytes++;
			memmove(at, at + bytes, ada_string_bytes(at + bytes) + 1);
			continue;
		}
		while (*at && !is_separator(*at))
			at++;
		at += *at != 0;
	}
	return *value;
}

bool ada_environment_take(char **environment)
{
	char **to = environment;

	for (char **from = environment; *from; from++) {
		if (ada_string_begins(*from, SOCKET)) {
			ada_string_copy(socket_entry, sizeof socket_entry, *from);
			continue;
		}
		if (ada_string_begins(*from, PRELOAD) && !preload_cut(*from))
			continue;
		*to++ = *from;
	}
	*to = NULL;
	return socket_entry[0] && preload_entry[0] && ada_connect_set_path(socket_entry + sizeof SOCKET - 1);
}

size_t ada_environment_words(char *const *environment)
{
	size_t pointers = 3, bytes = 0;				/* ours twice, and the end */

	for (; environment && *environment; environment++, pointers++)
		if (ada_string_begins(*environment, PRELOAD))
			bytes = ada_string_bytes(*environment) + ada_string_bytes(preload_entry) + 2;
	return pointers + (bytes + 7) / 8;
}

void ada_environment_give(char *const *environment, uint64_t *words)
{
	char **to = (char **)words, *text;
	size_t pointers = 3, own = ada_string_bytes(preload_entry);
	bool has_preload = false;

	for (char *const *at = environment; at && *at; at++, pointers++)
		has_preload |= ada_string_begins(*at, PRELOAD);
	text = (char *)(words + pointers);
	*to++ = socket_entry;
	if (!has_preload)
		*to++ = preload_entry;
	for (; environment && *environment; environment++) {
		if (!ada_string_begins(*environment, PRELOAD)) {
			*to++ = *environment;
			continue;
		}
		/* The user's own preloads stay, behind the agent; of several LD_PRELOADs the loader takes the last. */
		memcpy(text, preload_entry, own);
		text[own] = ':';
		memcpy(text + own + 1, *environment + sizeof PRELOAD - 1,
		       ada_string_bytes(*environment + sizeof PRELOAD - 1) + 1);
		*to++ = text;
	}
	*to = NULL;
}
