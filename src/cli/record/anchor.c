/* ada anchor [SESSION] NAME --media-time=T [--host-time=T]: one moment on the host's clock and on another one. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>
#include "cli/ground/answer.h"
#include "cli/record/commands.h"
#include "query/session/session.h"

struct alignment {
	const char *clock; /* its name */
	const struct ada_options *options;
	uint64_t now_ns; /* when the command began */
};

static const struct ada_usage usage = {
	"[SESSION] NAME",
	"Aligns a session with the clock of a recording of sound or picture, or any other that counts: notes one moment on both."
	"\vWith one anchor of NAME its clock has the host's rate; with more, drift is taken out. `ada info` lists them,"
	" and --clock=NAME of dump, report and others takes and shows times on it.",
};

/* The holder of the directory's lock writes session.json: the recorder, as long as it lives. */
static bool is_being_recorded(const struct ada_session *session)
{
	int place = open(session->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fd = openat(place, faccessat(place, "session.json", F_OK, 0) ? ".." : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool held = fd < 0 || (flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK);

	if (fd >= 0)
		close(fd);
	if (place >= 0)
		close(place);
	return held;
}

static int find_host_time(struct ada_session *session, const struct alignment *wanted, uint64_t *ns, struct ada_error *error)
{
	*ns = wanted->now_ns;
	if (wanted->options->host_time)
		return ada_clock_view_set(session, strchr(wanted->options->host_time, 'T') ? "wall" : NULL, error) ?:
			       ada_clock_view_parse(&session->view, session, wanted->options->host_time, ns, error);
	if (is_being_recorded(session))
		return 0;
	return ada_error_set(error, EINVAL,
			     "%s is no longer being recorded: say with --host-time=TIME, like +1.5s, at which moment of it "
			     "clock %s showed that",
			     session->path, wanted->clock);
}

static int make_anchor(struct ada_session *session, const struct alignment *wanted, struct ada_timing_anchor *anchor,
		       struct ada_error *error)
{
	int64_t media_ns;

	if (!ada_clock_parse_media(wanted->options->media_time, &media_ns))
		return ada_error_set(error, EINVAL, "--media-time: '%s' is no time: write it like 12.5s, or in ns",
				     wanted->options->media_time);
	if (media_ns < 0)
		return ada_error_set(error, EINVAL, "--media-time=%s: a clock begins at 0", wanted->options->media_time);
	if (strlen(wanted->clock) >= sizeof anchor->clock)
		return ada_error_set(error, EINVAL, "'%s' can't name a clock: it has %zu characters at most", wanted->clock,
				     sizeof anchor->clock - 1);
	*anchor = (struct ada_timing_anchor){ .mediaTimeNs = (uint64_t)media_ns };
	strcpy(anchor->clock, wanted->clock);
	return find_host_time(session, wanted, &anchor->hostTimeNs, error);
}

/* Says what anchors the clock has now. A rate far from the host's is allowed, since a slow-motion film has one, but it is rarely
 * meant. */
static void say_clock(const char *command, const char *path, const struct ada_timing_anchor *anchor)
{
	struct ada_timing_anchor *anchors;
	const struct ada_timing_anchor *first = NULL, *last = NULL;
	struct atf_message message;
	size_t count, own = 0;
	double rate;

	if (atf_session_anchors(path, &anchors, &count, &message))
		return;
	for (size_t i = 0; i < count; i++)
		if (!strcmp(anchors[i].clock, anchor->clock)) {
			first = first ? first : &anchors[i];
			last = &anchors[i];
			own++;
		}
	if (own < 2) {
		printf("clock %s: 1 anchor\n", anchor->clock);
	} else {
		rate = (double)(last->mediaTimeNs - first->mediaTimeNs) / (double)(last->hostTimeNs - first->hostTimeNs);
		printf("clock %s: %zu anchors, %.3f ppm %s than the host's\n", anchor->clock, own, (rate < 1 ? 1 - rate : rate - 1) * 1e6,
		       rate < 1 ? "slower" : "faster");
		if (rate < 0.9 || rate > 1.1)
			fprintf(stderr, "%s: clock %s runs at %.4g times the host's rate: is one of its times wrong, or in another unit?\n",
				command, anchor->clock, rate);
	}
	free(anchors);
}

int ada_cmd_anchor(int argc, char **argv)
{
	struct ada_options options = {};
	struct alignment wanted = { .options = &options, .now_ns = ada_get_timestamp_ns() };
	struct ada_timing_anchor anchor;
	struct ada_session *session = NULL;
	struct ada_error error = {};
	struct atf_message message;
	int result;

	ada_options_take(&options, &usage, argc, argv);
	if (options.words[0] && options.words[1])
		options.session = ada_options_place(ada_options_word(&options));
	wanted.clock = ada_options_word(&options);
	ada_options_end(&options);
	if (!wanted.clock || strchr(wanted.clock, '/')) /* a session alone */
		ada_options_fail(argv[0], "name the clock: ada anchor [SESSION] NAME --media-time=TIME");
	if (!options.media_time)
		ada_options_fail(argv[0], "say what time it was on clock %s with --media-time=TIME, like 12.5s", wanted.clock);
	result = ada_session_open(&session, options.session, &error);
	if (!result)
		result = make_anchor(session, &wanted, &anchor, &error);
	if (!result && atf_session_anchor(session->path, &anchor, &message))
		result = ada_error_set(&error, EINVAL, "%s", message.text);
	if (!result)
		say_clock(argv[0], session->path, &anchor);
	ada_session_close(session);
	return result ? ada_answer_fail(argv[0], &error) : 0;
}
