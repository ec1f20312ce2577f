/* Demangled names, cut to what people say. */
#ifndef ADA_ELF_SPOKEN_H
#define ADA_ELF_SPOKEN_H
#include <stddef.h>

#define ADA_NAME_BUFFER 320 /* of a name that is cut or made up */

/* Length of "ns::f" in "ns::f(int)". */
size_t ada_name_length(const char *name);
/* The name behind the return type with which demangled names of templates begin: "int f<int>" is f<int>. */
const char *ada_name_without_type(const char *name);
/* As people say it: without parameters and return type, template arguments as <..>, no ABI tags, no "[clone ...]", and of the
 * function in which std::thread runs a lambda that lambda; fills and returns `text`. */
char *ada_name_short(const char *name, char text[ADA_NAME_BUFFER]);
#endif
