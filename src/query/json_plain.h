/* JSON as recorders write it, in half of json-c's time: the manifest of thousands of threads is megabytes.
 *
 * Only what is plain is taken: no comments, no \u, no control characters in strings, no numbers that need thought, no key twice, a
 * depth that manifests have. What is taken is what json-c makes of it; for everything else, errors first of all, ask json-c. */
#ifndef ADA_QUERY_JSON_PLAIN_H
#define ADA_QUERY_JSON_PLAIN_H
#include <json-c/json.h>

/* The object that the text is, the caller's to put. NULL: it is something else, or not plain, or there is no memory. */
json_object *ada_json_plain(const char *text);
#endif
