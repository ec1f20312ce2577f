/* Results and arguments of libc's functions, for files without debug information. */
#ifndef ADA_TRIGGER_PROTOTYPES_H
#define ADA_TRIGGER_PROTOTYPES_H
#include <stddef.h>

/* `types`: of the result, then of each argument; after '.' any (printf):
 *   v nothing   c char   b bool   h H short   i u int   l z long   p pointer   s pointer to text   a pointer to a socket's address   f float   d double;
 *   capital, u, z, b: unsigned
 * `names`: of the arguments, a blank between two; "" where they have none. */
struct ada_prototype {
	const char *name, *types, *names;
};
extern const struct ada_prototype ada_prototypes[]; /* by name */
extern const size_t ada_prototype_count;

/* NULL where it isn't known. open64 and the like are as open. */
const struct ada_prototype *ada_prototype_find(const char *name);
#endif
