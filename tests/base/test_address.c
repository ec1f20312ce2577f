#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include "base/address.h"
#include "../test.h"

static void check(const void *bytes, size_t length, const char *wanted)
{
	char *text = ada_address_text(bytes, length);

	if (wanted)
		assert_string_equal(text, wanted);
	else
		assert_null(text);
	free(text);
}

static void internet(void **state)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(9), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(80), .sin6_addr = IN6ADDR_LOOPBACK_INIT };

	check(&in, sizeof in, "127.0.0.1:9");
	check(&in, sizeof in - 1, NULL);
	check(&in6, sizeof in6, "[::1]:80");
	check(&in6, sizeof in, NULL);
	in.sin_family = 0xeeee;
	check(&in, sizeof in, NULL);
	check(&in, 0, NULL);
}

static void local(void **state)
{
	struct {
		struct sockaddr_un at;
		char behind[64];
	} un = { .at.sun_family = AF_UNIX };

	check(&un, 2, NULL);
	check(&un, 3, NULL); /* abstract, of no name */
	strcpy(un.at.sun_path, "/run/x.sock");
	check(&un, sizeof un.at, "/run/x.sock");
	check(&un, 2 + 4, "/run");
	memcpy(un.at.sun_path, "\0name", 5);
	check(&un, 2 + 5, "@name");
	memset(un.at.sun_path, 'x', sizeof un - 2);
	{
		char *text = ada_address_text(&un, sizeof un);

		assert_int_equal(strlen(text), sizeof un.at.sun_path); /* all that the kernel has room for */
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(internet), cmocka_unit_test(local) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
