/* Socket addresses as people write them. */
#ifndef ADA_BASE_ADDRESS_H
#define ADA_BASE_ADDRESS_H
#include <stddef.h>

/* "127.0.0.1:5432", "[::1]:80", "/run/x.sock", "@abstract", of a struct sockaddr's bytes; to be freed. NULL: no address that this knows,
 * not all of it is there, or no memory. */
char *ada_address_text(const void *bytes, size_t length);
#endif
