/* The agent's two environment variables: taken out before the program's first instruction, put back at exec.
 *
 * We change the array that the kernel made, in place: the program, libc's environ and main's third argument all see the same array. The
 * order of what remains is the user's own, so that a program that prints its environment prints what it would untraced.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "agent/ground/mem.h"
#include "agent/ground/sys.h"
#include "agent/talk/talk.h"

#define PRELOAD "LD_PRELOAD="
#define SOCKET ADA_ENV_SOCKET "="

static char socket_entry[sizeof SOCKET + 108 + 1 + 2 * ADA_SECRET_BYTES]; /* path and secret */
static char preload_entry[sizeof PRELOAD + 4096];			  /* ours alone */
static uint64_t own_device, own_file;					  /* what it names */

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
	if (bytes >= sizeof ADA_PRELOAD_FD && !memcmp(entry, ADA_PRELOAD_FD, sizeof ADA_PRELOAD_FD - 1))
		return bytes;
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
				ada_string_copy(preload_entry + sizeof PRELOAD - 1, bytes + 1 < 4096 ? bytes + 1 : 4096, at);
			}
			if (at[bytes]) /* one separator goes with it */
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

/* "#PROVIDER.HEIR.GENERATION" behind the socket's path. Where there is no such thing the path may hold any character. */
static void ticket_cut(char *variable)
{
	uint32_t numbers[3] = { 0 };
	int count = 0;
	char *mark = NULL;

	ada_connect_set_ticket(&ada_heir_none);
	for (char *at = variable; *at; at++)
		mark = *at == '#' ? at : mark;
	for (char *at = mark ? mark + 1 : ""; *at && count < 3; at++) {
		if (*at == '.')
			count++;
		else if (*at >= '0' && *at <= '9')
			numbers[count] = numbers[count] * 10 + (*at - '0');
		else
			return;
	}
	if (count != 2)
		return;
	ada_connect_set_ticket(&(struct ada_heir_ticket){ numbers[0], numbers[1], numbers[2] });
	*mark = 0;
}

/* The secret's 32 digits behind the path's last "#". Without them there is none. */
static void secret_cut(char *path, uint8_t *secret)
{
	size_t bytes = ada_string_bytes(path), digits = 2 * ADA_SECRET_BYTES;
	char *mark = path + bytes - digits - 1;

	if (bytes <= digits || *mark != '#')
		return;
	for (size_t i = 0; i < digits; i++) {
		char c = mark[1 + i];

		if (!(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'f'))
			return;
		secret[i / 2] = secret[i / 2] << 4 | (c <= '9' ? c - '0' : c - 'a' + 10);
	}
	*mark = 0;
}

static bool connect_prepare(void)
{
	char path[sizeof socket_entry];
	uint8_t secret[ADA_SECRET_BYTES] = { 0 };

	ada_string_copy(path, sizeof path, socket_entry + sizeof SOCKET - 1);
	secret_cut(path, secret);
	ada_connect_set_secret(secret);
	return ada_connect_set_path(path);
}

/* Remembers which file the agent is, and gives back the descriptor that it may have come by. */
static void preload_note(void)
{
	const char *path = preload_entry + sizeof PRELOAD - 1;
	struct stat file = { 0 };
	long fd = ada_sys_open(path);

	if (!ada_sys_failed(fd)) {
		ada_sys4(SYS_fstat, fd, (long)&file, 0, 0);
		ada_sys_close(fd);
	}
	own_device = file.st_dev;
	own_file = file.st_ino;
	if (!ada_string_begins(path, ADA_PRELOAD_FD))
		return;
	fd = 0;
	for (path += sizeof ADA_PRELOAD_FD - 1; *path >= '0' && *path <= '9'; path++)
		fd = fd * 10 + (*path - '0');
	ada_sys_close(fd);
}

static bool opens_itself(const char *path)
{
	struct stat file = { 0 };
	long fd = ada_sys_open(path);

	if (ada_sys_failed(fd))
		return false;
	ada_sys4(SYS_fstat, fd, (long)&file, 0, 0);
	ada_sys_close(fd);
	return own_file && file.st_dev == own_device && file.st_ino == own_file;
}

enum ada_heir_kind ada_environment_way(struct ada_way *way)
{
	char *end;
	int fd;

	way->fd = -1;
	way->preload = preload_entry;
	if (opens_itself(preload_entry + sizeof PRELOAD - 1))
		return ADA_HEIR_EXEC;
	/* Ask here already: the new image sees the same /proc as long as it has the same root. */
	if (ada_sys_failed(ada_sys4(SYS_faccessat, AT_FDCWD, (long)"/proc/self/fd", R_OK, 0)))
		return ADA_HEIR_ROOT;
	fd = ada_connect_agent();
	if (fd == -EMFILE || fd == -ENFILE || fd == -ENOMEM)
		return ADA_HEIR_NO_MEMORY;
	if (fd < 0)
		return ADA_HEIR_ROOT;
	way->fd = ada_sys4(SYS_fcntl, fd, F_DUPFD, 3, 0); /* without close-on-exec */
	ada_sys_close(fd);
	if (way->fd < 0)
		return ADA_HEIR_NO_MEMORY;
	memcpy(way->text, PRELOAD ADA_PRELOAD_FD, sizeof PRELOAD ADA_PRELOAD_FD - 1);
	end = ada_heir_number(way->text + sizeof PRELOAD ADA_PRELOAD_FD - 1, way->fd);
	*end = 0;
	way->preload = way->text;
	return ADA_HEIR_EXEC;
}

void ada_environment_way_end(const struct ada_way *way)
{
	if (way->fd >= 0)
		ada_sys_close(way->fd);
}

bool ada_environment_take(char **environment)
{
	char **to = environment;

	for (char **from = environment; *from; from++) {
		if (ada_string_begins(*from, SOCKET)) {
			ticket_cut(*from);
			ada_string_copy(socket_entry, sizeof socket_entry, *from);
			continue;
		}
		if (ada_string_begins(*from, PRELOAD) && !preload_cut(*from))
			continue;
		*to++ = *from;
	}
	*to = NULL;
	if (!socket_entry[0] || !preload_entry[0] || !connect_prepare())
		return false;
	preload_note();
	return true;
}

size_t ada_environment_words(char *const *environment)
{
	size_t pointers = 3, bytes = 0; /* ours twice, and the end */

	for (; environment && *environment; environment++, pointers++)
		if (ada_string_begins(*environment, PRELOAD))
			bytes = ada_string_bytes(*environment) + ada_string_bytes(preload_entry) + sizeof(struct ada_way) + 2;
	bytes += ada_string_bytes(socket_entry) + ADA_HEIR_TICKET_BYTES;
	return pointers + (bytes + 7) / 8;
}

/* Returns the end of what it wrote, behind the 0. */
static char *socket_write(char *text, const struct ada_heir_ticket *ticket)
{
	size_t bytes = ada_string_bytes(socket_entry);

	memcpy(text, socket_entry, bytes);
	text += bytes;
	if (ticket->provider != ADA_NONE) {
		*text++ = '#';
		text = ada_heir_number(text, ticket->provider);
		*text++ = '.';
		text = ada_heir_number(text, ticket->heir);
		*text++ = '.';
		text = ada_heir_number(text, ticket->generation);
	}
	*text++ = 0;
	return text;
}

void ada_environment_give(char *const *environment, uint64_t *words, const char *preload, const struct ada_heir_ticket *ticket)
{
	char **to = (char **)words, *text;
	size_t pointers = 3, own = ada_string_bytes(preload);
	bool has_preload = false;

	for (char *const *at = environment; at && *at; at++, pointers++)
		has_preload |= ada_string_begins(*at, PRELOAD);
	text = (char *)(words + pointers);
	*to++ = text;
	text = socket_write(text, ticket);
	if (!has_preload)
		*to++ = (char *)preload;
	for (; environment && *environment; environment++) {
		if (!ada_string_begins(*environment, PRELOAD)) {
			*to++ = *environment;
			continue;
		}
		/* The user's own preloads stay, behind the agent; of several LD_PRELOADs the loader takes the last. */
		memcpy(text, preload, own);
		text[own] = ':';
		memcpy(text + own + 1, *environment + sizeof PRELOAD - 1, ada_string_bytes(*environment + sizeof PRELOAD - 1) + 1);
		*to++ = text;
	}
	*to = NULL;
}
