/* How often each function was called at the last looks. */
#ifndef ADA_CLI_LIVE_TREND_H
#define ADA_CLI_LIVE_TREND_H
#include "base/array.h"
#include "base/hash.h"

#define ADA_TREND_LOOKS 12

struct ada_trend_line {
	uint64_t looks[ADA_TREND_LOOKS]; /* at the place of look number N modulo ADA_TREND_LOOKS */
	uint64_t last;			 /* number of the last look that it was seen at */
};
struct ada_trend {
	uint64_t look; /* number of the last one, from 1; 0: none yet */
	struct ada_table places;
	ADA_ARRAY(struct ada_trend_line) lines;
};

void ada_trend_begin(struct ada_trend *trend);					 /* another look: all are 0 until they are told */
int ada_trend_tell(struct ada_trend *trend, uint64_t identity, uint64_t number); /* 0 or -ENOMEM */
/* Oldest first; returns how many: no more than there were looks. */
size_t ada_trend_get(const struct ada_trend *trend, uint64_t identity, uint64_t numbers[ADA_TREND_LOOKS]);
void ada_trend_forget(struct ada_trend *trend); /* all looks: what comes is of another time */
#endif
