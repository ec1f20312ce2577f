#include "recorder/session/squeezing.h"
#include "atf/session/thread.h"
#include "base/file.h"
#include "recorder/squeeze/squeezer.h"
#include "recorder/state/provider.h"

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
	ada_bound_wrote(recorder->bound, segment.bytes);
	ada_squeezer_send(recorder->squeezer, is_here(recorder, &segment, path) ? path : NULL);
}
