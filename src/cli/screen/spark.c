#include "cli/screen/spark.h"
#include <string.h>

#define HEIGHTS 8

static const char *const blocks[HEIGHTS + 1] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
static const char *const letters[HEIGHTS + 1] = { " ", ".", ":", "-", "=", "+", "*", "%", "#" };

char *ada_spark(const uint64_t *numbers, size_t count, bool utf8, char text[ADA_SPARK_TEXT])
{
	uint64_t most = 0;
	char *end = text;

	if (count > ADA_SPARK_MAX) {
		numbers += count - ADA_SPARK_MAX;
		count = ADA_SPARK_MAX;
	}
	for (size_t i = 0; i < count; i++)
		most = numbers[i] > most ? numbers[i] : most;
	for (size_t i = 0; i < count; i++) {
		/* What isn't 0 is seen. */
		size_t height = numbers[i] ? 1 + (size_t)((double)numbers[i] / (double)most * (HEIGHTS - 1) + 0.5) : 0;
		const char *mark = (utf8 ? blocks : letters)[height < HEIGHTS ? height : HEIGHTS];

		end = stpcpy(end, mark);
	}
	*end = 0;
	return text;
}
