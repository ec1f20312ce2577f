/* Everything that the readers of recordings print or write goes through here: buffered, and quoted right for each format.
 *
 * Names come from strangers' binaries and may hold any bytes. JSON escapes them, CSV quotes them (RFC 4180), text shows
 * control characters as '?'; what is no UTF-8 becomes U+FFFD in all three, so that the formats agree.
 */
#ifndef ADA_BASE_OUTPUT_H
#define ADA_BASE_OUTPUT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ada_format { ADA_FORMAT_TEXT, ADA_FORMAT_JSON, ADA_FORMAT_CSV };

struct ada_output {
	int fd;
	int error; /* errno of the first write that failed; what comes after it is dropped */
	size_t length;
	char bytes[1 << 16];
};

void ada_output_open(struct ada_output *output, int fd);
void ada_output_bytes(struct ada_output *output, const char *bytes, size_t length);
void ada_output_string(struct ada_output *output, const char *string); /* as it is */
/* As printf(3), as it is: for text of our own, or names that are no strangers'. */
void __attribute__((format(printf, 2, 3))) ada_output_format(struct ada_output *output, const char *format, ...);
void ada_output_u64(struct ada_output *output, uint64_t number);
void ada_output_numbers(struct ada_output *output, const uint64_t *numbers, size_t count); /* each with a comma behind it */
void ada_output_spaces(struct ada_output *output, size_t count);
void ada_output_text(struct ada_output *output, const char *text); /* for a terminal */
void ada_output_json(struct ada_output *output, const char *text); /* with its quotation marks */
void ada_output_csv(struct ada_output *output, const char *text);  /* quoted where it needs it */
void ada_output_utf8(struct ada_output *output, const char *text); /* as it is, but for what is no UTF-8 */
/* As ada_output_text, in lines of `columns` (0: one line), broken at spaces: the first one begins behind `first` columns that are written
 * already, the others are indented by `others`. */
void ada_output_wrapped(struct ada_output *output, const char *text, size_t columns, size_t first, size_t others);
void ada_output_quoted(struct ada_output *output, enum ada_format format, const char *text); /* one of the three */
/* Writes what is left. False: something could not be written (errno in ->error). A closed pipe ends the program as SIGPIPE
 * does by default, quietly, also where the parent had it ignored. */
bool ada_output_flush(struct ada_output *output);
/* The same, and says so on stderr: exit status of a command that printed its answer. */
int ada_output_finish(struct ada_output *output, const char *command);

/* What `text` becomes in one of the formats, malloc'ed; NULL: no memory. For names that are printed many times. */
char *ada_output_prepare(enum ada_format format, const char *text);
/* The text as UTF-8: what is none replaced as everywhere. malloc'ed; NULL: no memory. */
bool ada_output_is_utf8(const char *text);
char *ada_output_utf8_copy(const char *text);

size_t ada_utf8_length(const char *text);  /* bytes of the sequence at `text` (which ends with a NUL); 0: it is none */
size_t ada_output_width(const char *text); /* columns on a terminal: code points */
bool ada_output_colours(int fd);	   /* a terminal, and no NO_COLOR */
/* Standard output is a pager's, who shows it on a terminal of so many columns (0: not known). */
void ada_output_goes_to_terminal(unsigned int columns);
unsigned int ada_output_columns(void); /* of the terminal that standard output ends at; 0: none, or not known */
#endif
