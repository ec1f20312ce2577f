/* As much of JSON as anchors need, where the text's owner may be anyone: nothing behind `end` is read, nothing recurses.
 *
 * Each call takes the place to read at, and returns the place behind what it read, or NULL where no such thing stands there. */
#ifndef ADA_ATF_JSON_H
#define ADA_ATF_JSON_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)
const char *atf_json_space(const char *at, const char *end);	       /* skips it: never NULL, may be end */
const char *atf_json_sign(const char *at, const char *end, char sign); /* space, that character, space */
const char *atf_json_value(const char *at, const char *end);	       /* skips one value and the space behind it */
/* A string without escapes: its bytes; with some it is skipped, *text is NULL. */
const char *atf_json_string(const char *at, const char *end, const char **text, size_t *length);
const char *atf_json_u64(const char *at, const char *end, uint64_t *number); /* digits alone, that fit */
/* The value of a member, [*from, *to), where the whole text is one object. False: there is no such member; *behind is the object's
 * closing brace, or NULL where the text is no object. */
bool atf_json_member(const char *text, const char *end, const char *name, const char **from, const char **to, const char **behind);
#pragma GCC visibility pop
#endif
