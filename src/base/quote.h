/* Words as a shell takes them. */
#ifndef ADA_BASE_QUOTE_H
#define ADA_BASE_QUOTE_H

/* The argument so that a shell reads it as one word, and it stays on one line: as it is, 'quoted', or, with control characters,
 * $'in the way of bash, ksh and zsh'. To be freed; NULL: no memory. */
char *ada_quote_argument(const char *argument);
#endif
