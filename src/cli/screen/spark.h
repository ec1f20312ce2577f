/* Small pictures of a few numbers: "▁▃█" or, where the terminal has no UTF-8, ".-#". */
#ifndef ADA_CLI_SCREEN_SPARK_H
#define ADA_CLI_SCREEN_SPARK_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADA_SPARK_MAX 32
#define ADA_SPARK_TEXT (3 * ADA_SPARK_MAX + 1)

/* A column a number, at most ADA_SPARK_MAX; the largest is the highest, and 0 a blank. Fills and returns `text`. */
char *ada_spark(const uint64_t *numbers, size_t count, bool utf8, char text[ADA_SPARK_TEXT]);
#endif
