/* How a failure travels: a function returns 0 or -errno and says in `struct ada_error` what, where and what to do next.
 * The first message stays: callers add nothing, they pass it on. One line, no newline. */
#ifndef ADA_BASE_ERROR_H
#define ADA_BASE_ERROR_H

struct ada_error {
	char text[512];
};

/* Sets the text (unless there is one already) and returns -code. code: an errno value, > 0. error may be NULL. */
int ada_error_set(struct ada_error *error, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The same with ": " and strerror(code) at the end. */
int ada_error_system(struct ada_error *error, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Exit statuses of ada itself (DESIGN section 4); `trace` else ends with the program's own. */
enum ada_exit { ADA_EXIT_FAILED = 125, ADA_EXIT_NOT_EXECUTABLE = 126, ADA_EXIT_NOT_FOUND = 127 };
#endif
