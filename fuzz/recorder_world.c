#include "recorder_world.h"
#include <assert.h>
#include <errno.h>
#include <linux/futex.h>
#include <limits.h>
#include <sanitizer/asan_interface.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "atf/ground/stream.h"
#include "memory.h"
#include "recorder/detail/detail.h"
#include "recorder/host/limit.h"
#include "recorder/host/process.h"
#include "recorder/host/say.h"
#include "recorder/late/late.h"
#include "recorder/policy/policy.h"
#include "recorder/process/life.h"
#include "recorder/session/manifest.h"

#define DIRECTORY FUZZ_MEMORY "/session"

static char *command[] = { "program", NULL };
struct ada_trace_options fuzz_options = { .command = command,
					  .follow = true,
					  .libcalls = true,
					  .detail = true,
					  .index_buffer_bytes = ADA_INDEX_BUFFER_MIN,
					  .detail_buffer_bytes = ADA_DETAIL_BUFFER_MIN,
					  .detail_stack_bytes = 32 };
bool fuzz_manifests = true;

static struct ada_recorder recorder;

/* --- Input -------------------------------------------------------------------------------------------------------------- */

uint8_t fuzz_byte(struct fuzz_input *input)
{
	return input->at < input->end ? *input->at++ : 0;
}

uint16_t fuzz_short(struct fuzz_input *input)
{
	uint16_t low = fuzz_byte(input);

	return (uint16_t)(low | fuzz_byte(input) << 8);
}

uint64_t fuzz_number(struct fuzz_input *input)
{
	static const uint64_t edges[] = { UINT64_MAX, UINT64_MAX - 1,
					  UINT32_MAX, UINT32_MAX - 1ull,
					  1ull << 32, INT64_MAX,
					  1ull << 63, UINT16_MAX,
					  32768,      32767,
					  4096,	      64,
					  63,	      65 };
	uint8_t kind = fuzz_byte(input);
	uint64_t number = 0;

	if (kind < 128)
		return kind;
	if (kind < 128 + sizeof edges / sizeof *edges)
		return edges[kind - 128];
	if (kind < 192)
		return ada_clock_counter() - (uint64_t)(kind - 150) * 100000;
	if (kind < 224)
		return fuzz_short(input);
	for (int i = 0; i < 8; i++)
		number |= (uint64_t)fuzz_byte(input) << 8 * i;
	return number;
}

bool fuzz_one_in(unsigned int inputs, const uint8_t *bytes, size_t length)
{
	uint32_t sum = 2166136261u;

	while (length--)
		sum = (sum ^ *bytes++) * 16777619u;
	return (sum ^ sum >> 16) % inputs == 0;
}

/* --- In place of parts of the recorder: say.c, scribe.c, late.c, and the files ------------------------------------------- */

void ada_say_open(void)
{
}

void ada_say_close(void)
{
}

bool ada_say_is_through(void)
{
	return true;
}

void ada_say(const char *format, ...)
{
	char *text;
	va_list arguments;

	va_start(arguments, format);
	assert(vasprintf(&text, format, arguments) > 0);
	va_end(arguments);
	assert(!strncmp(text, "ada: ", 5) && strchr(text, '\n') == text + strlen(text) - 1);
	free(text);
}

/* Bytes of one character of UTF-8; 0: it is none. */
static size_t character_bytes(const char *text)
{
	const uint8_t *at = (const uint8_t *)text;
	size_t count = *at < 0x80 ? 1 : *at >= 0xc2 && *at < 0xe0 ? 2 : (*at & 0xf0) == 0xe0 ? 3 : *at >= 0xf0 && *at < 0xf5 ? 4 : 0;

	for (size_t i = 1; i < count; i++)
		if ((at[i] & 0xc0) != 0x80)
			return 0;
	return count;
}

void fuzz_check_json(json_object *object)
{
	const char *text = json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN);

	assert(text && *text == '{');
	for (size_t step; *text; text += step) {
		step = character_bytes(text);
		assert(step && (uint8_t)*text >= ' ');
	}
}

void ada_scribe_write(struct ada_scribe *scribe, struct ada_paper *paper, json_object *object, bool first)
{
	fuzz_check_json(object);
	json_object_put(object);
	paper->written++;
}

void __real_ada_manifest_write(struct ada_provider *provider);
void __wrap_ada_manifest_write(struct ada_provider *provider);
void __wrap_ada_manifest_write(struct ada_provider *provider)
{
	if (fuzz_manifests)
		__real_ada_manifest_write(provider);
}

int ada_scribe_open(struct ada_scribe **scribe)
{
	*scribe = NULL;
	return 0;
}

void ada_scribe_wait(struct ada_scribe *scribe)
{
}

void ada_scribe_close(struct ada_scribe *scribe)
{
}

int ada_late_run(const struct ada_late *late, struct ada_error *error)
{
	for (size_t i = 0; i < late->ranges.count; i++)
		assert(late->ranges.items[i].start < late->ranges.items[i].end);
	return ada_error_set(error, EAGAIN, "nobody is stopped here");
}

static int sink_open(struct atf_sink *sink, const char *path)
{
	assert(!strncmp(path, recorder.session.root, strlen(recorder.session.root)));
	return fuzz_null();
}

static int sink_write(struct atf_sink *sink, struct atf_block *block)
{
	assert(!__asan_region_is_poisoned((void *)block->bytes, block->length));
	atf_block_done(block, 0);
	return 0;
}

static int sink_wait(struct atf_sink *sink, int fd)
{
	abort();
}

static int sink_close(struct atf_sink *sink, int fd, bool sync)
{
	return close(fd);
}

static struct atf_sink no_files = { .open = sink_open, .write = sink_write, .wait = sink_wait, .close = sink_close };

/* --- The recorder ------------------------------------------------------------------------------------------------------- */

/* This process, and the machine: the same at each execution. */
uint64_t __wrap_ada_limit_room(pid_t pid, uint64_t used_bytes);
uint64_t __wrap_ada_limit_room(pid_t pid, uint64_t used_bytes)
{
	return 1ull << 32;
}

struct ada_limits __wrap_ada_limits_of(pid_t pid, uint64_t used_bytes);
struct ada_limits __wrap_ada_limits_of(pid_t pid, uint64_t used_bytes)
{
	return (struct ada_limits){ 1ull << 32, 1ull << 32, UINT64_MAX };
}

pid_t __wrap_ada_process_parent(pid_t pid);
pid_t __wrap_ada_process_parent(pid_t pid)
{
	return getppid();
}

int __wrap_pidfd_open(pid_t pid, unsigned int flags);
int __wrap_pidfd_open(pid_t pid, unsigned int flags)
{
	return fuzz_null();
}

int __wrap_prlimit64(pid_t pid, enum __rlimit_resource resource, const struct rlimit64 *new, struct rlimit64 *old);
int __wrap_prlimit64(pid_t pid, enum __rlimit_resource resource, const struct rlimit64 *new, struct rlimit64 *old)
{
	assert(!new);
	*old = (struct rlimit64){ RLIM64_INFINITY, RLIM64_INFINITY };
	return 0;
}

/* Nobody waits, and there is one thread. */
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	assert(number == SYS_futex || number == SYS_tgkill);
	if (number == SYS_futex || b == recorder.main_pid)
		return 0;
	errno = ESRCH;
	return -1;
}

/* Small blocks: they are new ones in each execution. */
int __real_atf_stream_open(struct atf_stream *stream, const char *path, struct atf_sink *sink, size_t block_bytes, const void *header);
int __wrap_atf_stream_open(struct atf_stream *stream, const char *path, struct atf_sink *sink, size_t block_bytes, const void *header);
int __wrap_atf_stream_open(struct atf_stream *stream, const char *path, struct atf_sink *sink, size_t block_bytes, const void *header)
{
	return __real_atf_stream_open(stream, path, sink, 16 << 10, header);
}

static void put_process(void)
{
	static const char arguments[] = "program\0one", program[] = "/usr/bin/program";
	static char directory[32], path[64], link[64];

	snprintf(directory, sizeof directory, "/proc/%d", getpid());
	snprintf(path, sizeof path, "%s/cmdline", directory);
	snprintf(link, sizeof link, "%s/exe", directory);
	fuzz_directory_put(directory);
	fuzz_file_put(path, arguments, sizeof arguments);
	fuzz_file_put(link, program, sizeof program - 1);
}

static void begin_once(void)
{
	if (recorder.options)
		return;
	setenv("XDG_CACHE_HOME", "/dev/null/none", 1);
	put_process();
	recorder = (struct ada_recorder){ .options = &fuzz_options,
					  .main_pid = getpid(),
					  .main_pidfd = -1,
					  .presence.fd = -1,
					  .wake = fuzz_null(),
					  .grower_wake = fuzz_null() };
	strcpy(recorder.program.path, "/usr/bin/program");
	strcpy(recorder.session.directory, "session");
	recorder.session.fd = -1;
	strcpy(recorder.session.root, DIRECTORY);
	pthread_mutex_init(&recorder.lock, NULL);
	pthread_mutex_init(&recorder.starting, NULL);
	assert(!ada_clock_begin(&recorder.clock) && !ada_clock_settle(recorder.clock) && !ada_plans_open(&recorder.plans, NULL));
}

struct ada_recorder *fuzz_recorder_begin(const char *const *rules)
{
	const struct ada_clock_anchor *anchors;
	struct ada_error error = { "" };

	begin_once();
	fuzz_options.triggers.count = 0;
	for (size_t i = 0; rules && rules[i]; i++)
		assert(!ada_array_push(&fuzz_options.triggers, rules[i]));
	assert(ada_clock_anchors(recorder.clock, &anchors));
	assert(!ada_policy_open(&recorder.policy, &fuzz_options, 1 / anchors[0].ns_per_tick, &error));
	ada_policy_attach(recorder.policy, &recorder);
	recorder.lane_options = (struct ada_lane_options){ .sink = &no_files,
							   .clock = recorder.clock,
							   .circular = fuzz_options.index_mode == ADA_INDEX_CIRCULAR };
	return &recorder;
}

struct ada_provider *fuzz_provider(struct ada_recorder *of)
{
	struct ada_provider *provider;
	struct ada_newcomer newcomer = { .pid = getpid(), .thread_id = getpid(), .parent_pid = 1, .pidfd = -1 };
	struct ada_error error = { "" };
	int agent_fd;

	assert(!ada_provider_start(&provider, of, &newcomer, &agent_fd, &error));
	close(agent_fd);
	assert(!ada_policy_provider(of->policy, provider, NULL));
	return provider;
}

void fuzz_check_provider(const struct ada_provider *provider)
{
	for (size_t i = 0; i < provider->drain.lanes.count && !provider->drain.failed; i++) {
		const struct ada_lane *lane = &provider->drain.lanes.items[i];
		uint64_t events = 0;

		for (size_t j = 0; j < lane->segments.count; j++)
			events += lane->segments.items[j];
		assert(events == lane->events);
	}
}

void fuzz_recorder_end(void)
{
	for (size_t i = 0; i < recorder.providers.count; i++) {
		struct ada_provider *provider = recorder.providers.items[i];

		if (!provider->ended)
			ada_provider_finish(provider, NULL, false);
		fuzz_check_provider(provider);
		assert(ada_provider_release(provider, true));
	}
	for (size_t i = 0; i < recorder.providers.count; i++)
		ada_provider_free(recorder.providers.items[i]);
	fuzz_directories_forget();
	for (size_t i = 0; i < recorder.labels.count; i++)
		free(recorder.labels.items[i]);
	ada_policy_close(recorder.policy);
	recorder.policy = NULL;
	recorder.providers.count = recorder.unrecorded.count = recorder.labels.count = 0;
	recorder.main_heard = recorder.closing = false;
}
