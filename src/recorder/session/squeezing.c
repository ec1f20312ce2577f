#include "recorder/session/squeezing.h"
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include "atf/session/thread.h"
#include "base/clock.h"
#include "base/file.h"
#include "recorder/squeeze/squeezer.h"
#include "recorder/state/provider.h"

#define SETTLE_NS 1000000000ull
#define TURN_MS 1

/* Where it lies; false: it is gone, or on its way out, and its file isn't main's any more. */
static bool is_here(struct ada_recorder *recorder, const struct ada_squeeze *segment, char path[PATH_MAX])
{
	const struct ada_provider *provider = ada_provider_at(recorder, segment->provider);
	char thread[PATH_MAX];

	return provider && segment->thread < provider->drain.lanes.count &&
	       segment->segment >= provider->drain.lanes.items[segment->thread].leaving &&
	       !ada_path(thread, "%s/thread_%u", provider->drain.directory, segment->thread) &&
	       !atf_packed_path(path, PATH_MAX, thread, segment->segment);
}

void ada_squeezing_turn(struct ada_recorder *recorder)
{
	struct ada_squeeze segment;
	char path[PATH_MAX];

	if (ada_squeezer_done(recorder->squeezer, &segment))
		ada_squeezer_take(recorder->squeezer, is_here(recorder, &segment, path));
	/* For a while there are both. */
	if (!ada_squeezer_next(recorder->squeezer, &segment) || ada_bound_is_full(recorder->bound, segment.bytes))
		return;
	ada_bound_wrote(recorder->bound, (int64_t)segment.bytes);
	ada_squeezer_send(recorder->squeezer, is_here(recorder, &segment, path) ? path : NULL);
}

/* Whether somebody is in a hurry. */
static bool is_asked_to_end(int signals)
{
	struct pollfd wait = { .fd = signals, .events = POLLIN };
	struct signalfd_siginfo info;

	poll(&wait, 1, TURN_MS);
	while (wait.revents && read(signals, &info, sizeof info) == sizeof info)
		if (info.ssi_signo == SIGINT || info.ssi_signo == SIGTERM || info.ssi_signo == SIGQUIT || info.ssi_signo == SIGHUP)
			return true;
	return false;
}

void ada_squeezing_settle(struct ada_recorder *recorder, int signals)
{
	uint64_t end_ns = ada_clock_boottime_ns() + SETTLE_NS;

	do
		ada_squeezing_turn(recorder);
	while (ada_squeezer_left(recorder->squeezer) && ada_clock_boottime_ns() < end_ns && !is_asked_to_end(signals));
}

size_t ada_squeezing_left(const struct ada_recorder *recorder)
{
	return ada_squeezer_left(recorder->squeezer);
}
