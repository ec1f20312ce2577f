#include "recorder/index/trouble.h"
#include <errno.h>
#include "base/clock.h"

#define PAUSE_FIRST_NS 20000000ull
#define PAUSE_LAST_NS 1000000000ull

bool ada_trouble_is(int error)
{
	switch (-error) {
	case ENOSPC:
	case EDQUOT:
	case EIO:
	case EROFS:
	case ENODEV:
	case ENXIO:
	case ESTALE:
	case ETIMEDOUT:
	case ENOLINK:
	case EREMOTEIO: return true;
	default: return false;
	}
}

void ada_trouble_begin(struct ada_trouble *trouble, int error)
{
	uint64_t now = ada_clock_boottime_ns();

	if (!trouble->error && !trouble->probes) {
		trouble->count++;
		trouble->since_ns = now;
		trouble->first_ns = trouble->first_ns ? trouble->first_ns : now;
		trouble->pause_ns = PAUSE_FIRST_NS;
	} else {
		trouble->pause_ns = 2 * trouble->pause_ns < PAUSE_LAST_NS ? 2 * trouble->pause_ns : PAUSE_LAST_NS;
	}
	trouble->probes = false;
	trouble->until_ns = 0;
	trouble->error = trouble->last_error = error;
	trouble->next_ns = now + trouble->pause_ns;
}

void ada_trouble_end(struct ada_trouble *trouble, bool probes)
{
	trouble->error = 0;
	trouble->probes = probes;
	trouble->until_ns = ada_clock_boottime_ns();
}

bool ada_trouble_due(const struct ada_trouble *trouble)
{
	return trouble->error && ada_clock_boottime_ns() >= trouble->next_ns;
}

bool ada_trouble_is_young(const struct ada_trouble *trouble)
{
	return trouble->error && ada_clock_boottime_ns() - trouble->since_ns < ADA_TROUBLE_PATIENCE_NS;
}
