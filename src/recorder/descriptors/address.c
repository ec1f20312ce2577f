/* Whose a socket is, and with whom it is connected. Of TCP and UDP the tables of the process's own network say so, of Unix sockets the kernel's
 * answers to one question a socket (sock_diag(7)), which concern the recorder's network: of a process that has another one they are left out. */
#include <errno.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "base/address.h"
#include "recorder/descriptors/look.h"

#define LINES_A_LOOK 128 /* of a table, until the time is looked at */
#define STATE_ESTABLISHED 1
#define STATE_LISTENS 10

struct place { /* an address of one of the two families, as IPv6 has it */
	struct in6_addr host;
	uint16_t port; /* 0: none */
};
struct pair {
	struct ada_lead *lead;
	struct place local, peer;
};
struct tables {
	struct ada_look *look;
	ADA_ARRAY(struct ada_lead *) sockets; /* whose line wasn't found yet, by inode */
	ADA_ARRAY(struct place) listening;
	ADA_ARRAY(struct pair) connected;
};

static int compare_inodes(const void *a, const void *b)
{
	const struct ada_lead *x = *(struct ada_lead *const *)a, *y = *(struct ada_lead *const *)b;

	return (x->inode > y->inode) - (x->inode < y->inode);
}

/* "0100007F" or four such: words as the machine reads them, of bytes in the network's order. */
static bool read_place(const char *hex, unsigned port, struct place *place)
{
	size_t length = strlen(hex), words = length / 8;
	char digits[9] = "";

	*place = (struct place){ .port = (uint16_t)port };
	if (length != 8 && length != 32)
		return false;
	if (words == 1) /* ::ffff:a.b.c.d */
		memset(&place->host.s6_addr[10], 0xff, 2);
	for (size_t i = 0; i < words; i++) {
		uint32_t word = (uint32_t)strtoul(memcpy(digits, hex + 8 * i, 8), NULL, 16);

		memcpy(&place->host.s6_addr[words == 1 ? 12 : 4 * i], &word, sizeof word);
	}
	return true;
}

static char *place_text(const struct place *place)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(place->port) };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(place->port), .sin6_addr = place->host };

	if (!place->port)
		return NULL;
	if (!IN6_IS_ADDR_V4MAPPED(&place->host))
		return ada_address_text(&in6, sizeof in6);
	memcpy(&in.sin_addr, &place->host.s6_addr[12], sizeof in.sin_addr);
	return ada_address_text(&in, sizeof in);
}

static void take_line(struct tables *tables, const char *protocol, const char *line)
{
	unsigned local_port, peer_port, state;
	unsigned long long inode;
	char local[33], peer[33];
	struct ada_lead key = {}, *wanted = &key, **found;
	struct pair pair = {};
	bool tcp = *protocol == 't', listens;

	if (sscanf(line, " %*u: %32[0-9A-F]:%x %32[0-9A-F]:%x %x %*x:%*x %*x:%*x %*x %*u %*u %llu", local, &local_port, peer, &peer_port,
		   &state, &inode) != 6 ||
	    !read_place(local, local_port, &pair.local) || !read_place(peer, peer_port, &pair.peer))
		return;
	listens = tcp && state == STATE_LISTENS;
	if (listens && ada_array_push(&tables->listening, pair.local))
		tables->look->partly = true;
	key.inode = inode;
	found = inode ? bsearch(&wanted, tables->sockets.items, tables->sockets.count, sizeof *tables->sockets.items, compare_inodes) :
			NULL;
	if (!found || (*found)->protocol)
		return;
	(*found)->protocol = protocol;
	(*found)->local = place_text(&pair.local);
	(*found)->peer = place_text(&pair.peer);
	(*found)->listens = listens;
	pair.lead = *found;
	if (tcp && pair.peer.port && ada_array_push(&tables->connected, pair))
		tables->look->partly = true;
}

static void read_table(struct tables *tables, const char *name, const char *protocol)
{
	char path[48], *line = NULL;
	size_t bytes = 0, lines = 0;
	FILE *file;

	snprintf(path, sizeof path, "/proc/%d/net/%s", tables->look->pid, name);
	file = fopen(path, "re");
	while (file && getline(&line, &bytes, file) > 0) {
		take_line(tables, protocol, line);
		if (!(++lines % LINES_A_LOOK) && !ada_look_in_time(tables->look))
			break;
	}
	free(line);
	if (file)
		fclose(file);
}

static bool is_place_of(const struct place *place, const struct place *listening)
{
	bool any = IN6_IS_ADDR_UNSPECIFIED(&listening->host) ||
		   (IN6_IS_ADDR_V4MAPPED(&listening->host) && !memcmp(&listening->host.s6_addr[12], "\0\0\0", 4));

	return place->port == listening->port && (any || !memcmp(&place->host, &listening->host, sizeof place->host));
}

/* A connection was accepted where somebody listens at its own end. */
static void note_accepted(const struct tables *tables)
{
	for (size_t i = 0; i < tables->connected.count; i++)
		for (size_t k = 0; k < tables->listening.count && !tables->connected.items[i].lead->accepted; k++)
			tables->connected.items[i].lead->accepted = is_place_of(&tables->connected.items[i].local,
										&tables->listening.items[k]);
}

static char *copy_of(const char *text)
{
	return text ? strdup(text) : NULL;
}

/* Of several descriptors of one socket one was found. */
static void share(const struct tables *tables)
{
	struct ada_lead *known = NULL;

	for (size_t i = 0; i < 2 * tables->sockets.count; i++) { /* once up, once down */
		bool up = i < tables->sockets.count;
		struct ada_lead *lead = tables->sockets.items[up ? i : 2 * tables->sockets.count - 1 - i];

		if (known && known->inode == lead->inode)
			lead->accepted |= known->accepted;
		if (known && known->inode == lead->inode && !lead->protocol) {
			lead->protocol = known->protocol;
			lead->local = copy_of(known->local);
			lead->peer = copy_of(known->peer);
			lead->listens = known->listens;
		}
		known = lead->protocol ? lead : known;
	}
}

/* --- Unix sockets ----------------------------------------------------------------------------------------------------------- */

static bool has_our_network(pid_t pid)
{
	struct stat ours, theirs;
	char path[40];

	snprintf(path, sizeof path, "/proc/%d/ns/net", pid);
	return !stat("/proc/self/ns/net", &ours) && !stat(path, &theirs) && ours.st_ino == theirs.st_ino && ours.st_dev == theirs.st_dev;
}

struct unix_socket {
	uint64_t peer; /* inode; 0: none */
	char *name;
	bool listens;
};

static char *unix_name(const void *bytes, size_t length)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	if (!length || length > sizeof address.sun_path)
		return NULL;
	memcpy(address.sun_path, bytes, length);
	return ada_address_text(&address, offsetof(struct sockaddr_un, sun_path) + length);
}

static bool read_answer(const struct nlmsghdr *header, size_t length, struct unix_socket *answer)
{
	const struct unix_diag_msg *message = (const void *)(header + 1);
	const char *at, *end;

	if (length < sizeof *header + sizeof *message || header->nlmsg_len > length ||
	    header->nlmsg_len < sizeof *header + sizeof *message || header->nlmsg_type != SOCK_DIAG_BY_FAMILY)
		return false;
	answer->listens = message->udiag_state == STATE_LISTENS;
	at = (const char *)(message + 1);
	end = (const char *)header + header->nlmsg_len;
	while (end - at >= (ptrdiff_t)sizeof(struct nlattr)) {
		const struct nlattr *attribute = (const void *)at;
		const void *value = at + NLA_HDRLEN;

		if (attribute->nla_len < NLA_HDRLEN || attribute->nla_len > end - at)
			break;
		if (attribute->nla_type == UNIX_DIAG_NAME && !answer->name)
			answer->name = unix_name(value, attribute->nla_len - (size_t)NLA_HDRLEN);
		else if (attribute->nla_type == UNIX_DIAG_PEER && attribute->nla_len >= NLA_HDRLEN + sizeof(uint32_t))
			answer->peer = *(const uint32_t *)value;
		if (end - at < NLA_ALIGN(attribute->nla_len))
			break;
		at += NLA_ALIGN(attribute->nla_len);
	}
	return true;
}

/* False: there is no such socket, or the kernel doesn't tell. */
static bool ask_kernel(int diag, uint64_t inode, struct unix_socket *answer)
{
	struct {
		struct nlmsghdr header;
		struct unix_diag_req request;
	} question = { .header = { .nlmsg_len = sizeof question, .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST },
		       .request = { .sdiag_family = AF_UNIX,
				    .udiag_states = UINT32_MAX,
				    .udiag_ino = (uint32_t)inode,
				    .udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_PEER,
				    .udiag_cookie = { UINT32_MAX, UINT32_MAX } } };
	union {
		struct nlmsghdr header;
		char bytes[1024];
	} reply;
	ssize_t length;

	*answer = (struct unix_socket){};
	if (inode > UINT32_MAX || send(diag, &question, sizeof question, 0) != sizeof question)
		return false;
	length = recv(diag, &reply, sizeof reply, 0);
	return length > 0 && read_answer(&reply.header, (size_t)length, answer);
}

static void ask_unix(struct ada_look *look, int diag, struct ada_lead *lead)
{
	struct unix_socket own, peer;

	if (ask_kernel(diag, lead->inode, &own)) {
		lead->protocol = "unix";
		lead->listens = own.listens;
		lead->peer_inode = own.peer;
		if (look->addresses) {
			lead->local = own.name;
			own.name = NULL;
		}
	}
	free(own.name);
	if (!lead->peer_inode || !look->addresses)
		return;
	if (ask_kernel(diag, lead->peer_inode, &peer))
		lead->peer = peer.name;
	/* The one that accepted has the name of the one that listens, and so its peer was the one that connected. */
	lead->accepted = lead->local && !lead->peer;
}

static void ask_of_unix(struct tables *tables)
{
	int diag = has_our_network(tables->look->pid) ? socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG) : -1;
	const struct timeval second = { .tv_sec = 1 }; /* the kernel answers within the question: this is for one that doesn't */

	if (diag < 0)
		return;
	setsockopt(diag, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof second);
	for (size_t i = 0; i < tables->sockets.count && ada_look_in_time(tables->look); i++)
		if (!tables->sockets.items[i]->protocol)
			ask_unix(tables->look, diag, tables->sockets.items[i]);
	close(diag);
}

static bool any_unknown(const struct tables *tables)
{
	for (size_t i = 0; i < tables->sockets.count; i++)
		if (!tables->sockets.items[i]->protocol)
			return true;
	return false;
}

void ada_look_sockets(struct ada_look *look)
{
	static const char *const names[][2] = { { "tcp", "tcp" }, { "tcp6", "tcp" }, { "udp", "udp" }, { "udp6", "udp" } };
	struct tables tables = { .look = look };

	for (size_t i = 0; i < look->leads.count; i++) {
		struct ada_lead *lead = &look->leads.items[i];

		if (!strncmp(lead->target, "socket:", 7) && ada_array_push(&tables.sockets, lead))
			look->partly = true;
	}
	if (tables.sockets.count) {
		qsort(tables.sockets.items, tables.sockets.count, sizeof *tables.sockets.items, compare_inodes);
		ask_of_unix(&tables); /* first: that is quick */
		/* A table costs a millisecond or more, however little it holds: the kernel goes through all that it has room for. */
		for (size_t i = 0; look->addresses && i < sizeof names / sizeof *names && any_unknown(&tables) && ada_look_in_time(look);
		     i++) {
			read_table(&tables, names[i][0], names[i][1]);
			share(&tables);
		}
		note_accepted(&tables);
		share(&tables);
	}
	ada_array_free(&tables.sockets);
	ada_array_free(&tables.listening);
	ada_array_free(&tables.connected);
}
