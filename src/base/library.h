/* Libraries that only a few commands call, and the recorder never: loaded when such a command comes. Loaded with every command, they and
 * what they need would be several megabytes of each recorder, and a good part of its start.
 *
 * The caller lists the functions once, and so gets a structure of pointers that have the types of the library's own header:
 *
 *   #define FUNCTIONS(X) X(curl_, easy_init) X(curl_, easy_perform)
 *   static struct { FUNCTIONS(ADA_LIBRARY_POINTER) } curl;
 *   static const char *const names[] = { FUNCTIONS(ADA_LIBRARY_NAME) };
 */
#ifndef ADA_BASE_LIBRARY_H
#define ADA_BASE_LIBRARY_H
#include <stddef.h>
#include "base/error.h"

#define ADA_LIBRARY_POINTER(prefix, name) __typeof__(prefix##name) *name;
#define ADA_LIBRARY_NAME(prefix, name) #prefix #name,

/* Fills `pointers` with functions of the library of that file name; where that fails, none of them changes. What is loaded stays. */
int ada_library_open(const char *file, void *pointers, const char *const *names, size_t count, struct ada_error *error);
#endif
