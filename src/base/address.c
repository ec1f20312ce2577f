#include "base/address.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

char *ada_address_text(const void *bytes, size_t length)
{
	char host[INET6_ADDRSTRLEN], text[sizeof(struct sockaddr_un) + INET6_ADDRSTRLEN];
	struct sockaddr_storage address = {};
	const struct sockaddr_in *in = (const void *)&address;
	const struct sockaddr_in6 *in6 = (const void *)&address;
	const struct sockaddr_un *local = (const void *)&address;
	size_t behind;

	length = length < sizeof *local ? length : sizeof *local;
	behind = length > offsetof(struct sockaddr_un, sun_path) ? length - offsetof(struct sockaddr_un, sun_path) : 0;
	memcpy(&address, bytes, length);
	if (address.ss_family == AF_INET && length >= sizeof *in && inet_ntop(AF_INET, &in->sin_addr, host, sizeof host))
		snprintf(text, sizeof text, "%s:%u", host, ntohs(in->sin_port));
	else if (address.ss_family == AF_INET6 && length >= sizeof *in6 && inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof host))
		snprintf(text, sizeof text, "[%s]:%u", host, ntohs(in6->sin6_port));
	else if (address.ss_family == AF_UNIX && behind && local->sun_path[0])
		snprintf(text, sizeof text, "%.*s", (int)behind, local->sun_path);
	else if (address.ss_family == AF_UNIX && behind > 1)
		snprintf(text, sizeof text, "@%.*s", (int)behind - 1, local->sun_path + 1);
	else
		return NULL;
	return strdup(text);
}
