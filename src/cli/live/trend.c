#include "cli/live/trend.h"
#include <errno.h>

void ada_trend_begin(struct ada_trend *trend)
{
	trend->look++;
}

/* What the line says of looks that it wasn't told of is of a round before. */
static void blank(struct ada_trend_line *line, uint64_t look)
{
	uint64_t from = line->last + 1;

	if (look - line->last > ADA_TREND_LOOKS)
		from = look - ADA_TREND_LOOKS + 1;
	for (; from <= look; from++)
		line->looks[from % ADA_TREND_LOOKS] = 0;
	line->last = look;
}

int ada_trend_tell(struct ada_trend *trend, uint64_t identity, uint64_t number)
{
	struct ada_trend_line *line;
	uint64_t place;

	if (!ada_table_get(&trend->places, identity, &place)) {
		place = trend->lines.count;
		if (ada_array_push(&trend->lines, (struct ada_trend_line){}) || ada_table_put(&trend->places, identity, place))
			return -ENOMEM;
	}
	line = &trend->lines.items[place];
	blank(line, trend->look);
	line->looks[trend->look % ADA_TREND_LOOKS] = number;
	return 0;
}

size_t ada_trend_get(const struct ada_trend *trend, uint64_t identity, uint64_t numbers[ADA_TREND_LOOKS])
{
	size_t count = trend->look < ADA_TREND_LOOKS ? (size_t)trend->look : ADA_TREND_LOOKS;
	struct ada_trend_line line = {};
	uint64_t place;

	if (ada_table_get(&trend->places, identity, &place))
		line = trend->lines.items[place];
	blank(&line, trend->look);
	for (size_t i = 0; i < count; i++)
		numbers[i] = line.looks[(trend->look - count + 1 + i) % ADA_TREND_LOOKS];
	return count;
}

void ada_trend_forget(struct ada_trend *trend)
{
	ada_table_free(&trend->places);
	ada_array_free(&trend->lines);
	*trend = (struct ada_trend){};
}
