/* Anchors: taking one, the lines between them, and storing them in a session that others write. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "fixture.h"

#define DOCUMENT "{\n  \"name\": \"anchors [}\\\" \",\n  \"startNs\": 1000,\n  \"nested\": { \"anchors\": [ 7 ] }\n}\n"

static char *document_path(const struct fixture *fixture, const char *name)
{
	static char path[128];

	snprintf(path, sizeof path, "%s/%s", fixture->directory, name);
	return path;
}

static void put_file(const struct fixture *fixture, const char *name, const char *text)
{
	bytes_write(document_path(fixture, name), text, strlen(text));
}

static char *read_text(const struct fixture *fixture, const char *name)
{
	struct bytes bytes = bytes_read(document_path(fixture, name));
	char *text = strndup((const char *)bytes.bytes, bytes.length);

	free(bytes.bytes);
	return text;
}

static struct ada_timing_anchor anchor_of(const char *clock, uint64_t host_ns, uint64_t media_ns)
{
	struct ada_timing_anchor anchor = { .hostTimeNs = host_ns, .mediaTimeNs = media_ns };

	snprintf(anchor.clock, sizeof anchor.clock, "%s", clock);
	return anchor;
}

static int store(const struct fixture *fixture, const char *clock, uint64_t host_ns, uint64_t media_ns, struct atf_message *message)
{
	struct ada_timing_anchor anchor = anchor_of(clock, host_ns, media_ns);

	return atf_session_anchor(fixture->directory, &anchor, message);
}

/* "clock host media, ..." of what can be read; the message where something was left out. */
static const char *stored(const struct fixture *fixture, struct atf_message *message)
{
	static char text[1024];
	struct ada_timing_anchor *anchors;
	size_t count, used = 0;

	assert_int_equal(atf_session_anchors(fixture->directory, &anchors, &count, message), 0);
	for (size_t i = 0; i < count; i++)
		used += (size_t)snprintf(text + used, sizeof text - used, "%s%s %llu %llu", i ? ", " : "", anchors[i].clock,
					 (unsigned long long)anchors[i].hostTimeNs, (unsigned long long)anchors[i].mediaTimeNs);
	text[used] = 0;
	free(anchors);
	return text;
}

/* --- taking ------------------------------------------------------------------------------------------------------------ */

/* A clock that began 5 s before the host's. */
static uint64_t later(void *context)
{
	++*(int *)context;
	return ada_get_timestamp_ns() + 5000000000u;
}

static uint64_t broken(void *context)
{
	return UINT64_MAX;
}

static void test_taking(void **state)
{
	static const char *const bad[] = {
		"", "boot", "wall", "1st", "a b", "a/b", "a\"b", "\xc3\xa4", "abcdefghijklmnopqrstuvwxyz_123456"
	};
	struct ada_timing_anchor anchor;
	uint64_t before, after;
	int readings = 0;

	ada_timing_init();
	ada_timing_init();
	before = ada_get_timestamp_ns();
	assert_int_equal(ada_timing_anchor(&anchor, "abcdefghijklmnopqrstuvwxyz_.-12", later, &readings), 0);
	after = ada_get_timestamp_ns();
	assert_true(before <= anchor.hostTimeNs && anchor.hostTimeNs <= after);
	assert_true(readings >= 1 && readings <= 32);
	/* Taken between the two readings of the host, wherever: no assertion on speed. */
	assert_true(anchor.mediaTimeNs - 5000000000u >= before && anchor.mediaTimeNs - 5000000000u <= after);
	assert_string_equal(anchor.clock, "abcdefghijklmnopqrstuvwxyz_.-12");
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(ada_timing_anchor(&anchor, bad[i], later, &readings), -ATF_ERROR_INVALID);
	assert_int_equal(ada_timing_anchor(&anchor, "video", broken, NULL), -ATF_ERROR_INVALID);
}

/* --- lines ------------------------------------------------------------------------------------------------------------- */

static int64_t media(const struct ada_timing_anchor *anchors, size_t count, uint64_t host_ns)
{
	int64_t result;

	assert_int_equal(atf_media_time(anchors, count, host_ns, &result), 0);
	return result;
}

static uint64_t host(const struct ada_timing_anchor *anchors, size_t count, int64_t media_ns)
{
	uint64_t result;

	assert_int_equal(atf_host_time(anchors, count, media_ns, &result), 0);
	return result;
}

static void test_one_anchor(void **state)
{
	struct ada_timing_anchor one = anchor_of("video", 1000, 300);

	assert_int_equal(media(&one, 1, 1000), 300);
	assert_int_equal(media(&one, 1, 1001), 301);
	assert_int_equal(media(&one, 1, 0), -700);
	assert_int_equal(host(&one, 1, 300), 1000);
	assert_int_equal(host(&one, 1, -700), 0);
	assert_int_equal(host(&one, 1, -701), 0); /* before the host's start */
}

/* 100 ppm fast, then 50 ppm slow: an hour each. */
static void test_drift(void **state)
{
	const uint64_t hour = 3600000000000u, start = 77000000000u;
	struct ada_timing_anchor three[] = { anchor_of("a", start, 0), anchor_of("a", start + hour, hour + hour / 10000),
					     anchor_of("a", start + 2 * hour, 2 * hour + hour / 10000 - hour / 20000) };

	assert_int_equal(media(three, 3, start + hour / 2), hour / 2 + hour / 20000);
	assert_int_equal(media(three, 3, start + hour), hour + hour / 10000);
	assert_int_equal(media(three, 3, start + hour + hour / 2), hour + hour / 2 + hour / 10000 - hour / 40000);
	/* outside: on the lines of the first and the last two */
	assert_int_equal(media(three, 3, start - 10000), -10001);
	assert_int_equal(media(three, 3, start + 2 * hour + 20000), 2 * hour + hour / 10000 - hour / 20000 + 19999);
	/* with one alone, the offset */
	assert_int_equal(media(three, 1, start + 2 * hour), 2 * hour);
}

static void test_edges(void **state)
{
	struct ada_timing_anchor wide[] = { anchor_of("a", 1, 0), anchor_of("a", UINT64_MAX, INT64_MAX) };
	struct ada_timing_anchor steep[] = { anchor_of("a", 1000, 0), anchor_of("a", 1001, INT64_MAX) };
	struct ada_timing_anchor flat[] = { anchor_of("a", 1000, 0), anchor_of("a", UINT64_MAX, 1) };
	struct ada_timing_anchor still[] = { anchor_of("a", 10, 5), anchor_of("a", 20, 5) };
	struct ada_timing_anchor large = anchor_of("a", 10, (uint64_t)INT64_MAX + 1);
	int64_t media_ns;
	uint64_t host_ns;

	assert_int_equal(media(wide, 2, 1), 0);
	assert_int_equal(media(wide, 2, UINT64_MAX), INT64_MAX);
	assert_int_equal(media(wide, 2, 0), -1);
	assert_int_equal(host(wide, 2, INT64_MIN), 0);
	assert_int_equal(host(wide, 2, INT64_MAX), UINT64_MAX);
	assert_int_equal(media(steep, 2, 1001), INT64_MAX);
	assert_int_equal(atf_media_time(steep, 2, 1002, &media_ns), -ATF_ERROR_RANGE);
	assert_int_equal(atf_media_time(steep, 2, 0, &media_ns), -ATF_ERROR_RANGE);
	assert_int_equal(host(steep, 2, 1), 1001);
	assert_int_equal(host(steep, 2, INT64_MIN), 999);
	assert_int_equal(media(flat, 2, UINT64_MAX - 1), 0);
	assert_int_equal(atf_host_time(flat, 2, 2, &host_ns), -ATF_ERROR_RANGE);
	assert_int_equal(atf_media_time(still, 2, 15, &media_ns), -ATF_ERROR_INVALID);
	assert_int_equal(atf_host_time(still, 2, 5, &host_ns), -ATF_ERROR_INVALID);
	assert_int_equal(atf_media_time(&large, 1, 15, &media_ns), -ATF_ERROR_INVALID);
	assert_int_equal(atf_media_time(&large, 0, 15, &media_ns), -ATF_ERROR_INVALID);
	assert_int_equal(atf_host_time(&large, 0, 15, &host_ns), -ATF_ERROR_INVALID);
}

/* host() is the first ns at which media() has come so far; both rise. */
static void test_there_and_back(void **state)
{
	struct random random = { 1 };

	for (int round = 0; round < 2000; round++) {
		struct ada_timing_anchor anchors[5];
		size_t count = 1 + random_below(&random, 5);
		uint64_t limit = 1ull << (1 + random_below(&random, 45));
		int64_t last;
		uint64_t at;

		for (size_t i = 0; i < count; i++)
			anchors[i] = anchor_of("a", (i ? anchors[i - 1].hostTimeNs : 1ull << 50) + 1 + random_below(&random, limit),
					       (i ? anchors[i - 1].mediaTimeNs : 1ull << 48) + 1 + random_below(&random, limit));
		at = anchors[0].hostTimeNs - limit + random_below(&random, 6 * limit);
		if (atf_media_time(anchors, count, at, &last))
			continue;
		assert_true(host(anchors, count, last) <= at);
		assert_int_equal(media(anchors, count, host(anchors, count, last)) >= last, true);
		at = host(anchors, count, last);
		if (at)
			assert_true(media(anchors, count, at - 1) < last);
		for (size_t i = 0; i < count; i++) {
			assert_int_equal(media(anchors, count, anchors[i].hostTimeNs), anchors[i].mediaTimeNs);
			assert_true(host(anchors, count, (int64_t)anchors[i].mediaTimeNs) <= anchors[i].hostTimeNs);
		}
	}
}

/* --- storing ----------------------------------------------------------------------------------------------------------- */

static void test_storing(void **state)
{
	static const char before[] = "{\n  \"name\": \"anchors [}\\\" \",\n  \"startNs\": 1000,\n  \"nested\": { \"anchors\": [ 7 ] }";
	struct fixture *fixture = *state;
	struct atf_message message;
	struct stat status;
	char *text;

	put_file(fixture, "session.json", DOCUMENT);
	assert_int_equal(chmod(document_path(fixture, "session.json"), 0640), 0);
	assert_string_equal(stored(fixture, &message), "");
	assert_int_equal(store(fixture, "video", 2000, 7, &message), 0);
	assert_int_equal(store(fixture, "audio", 1500, INT64_MAX, &message), 0);
	assert_int_equal(store(fixture, "video", 1000, 6, &message), 0);
	assert_int_equal(store(fixture, "video", 2000, 7, &message), 0); /* again: there it is */
	assert_string_equal(stored(fixture, &message), "audio 1500 9223372036854775807, video 1000 6, video 2000 7");
	assert_string_equal(message.text, "");
	text = read_text(fixture, "session.json");
	assert_true(!strncmp(text, before, sizeof before - 1));
	assert_string_equal(text + sizeof before - 1,
			    ",\n  \"anchors\": [\n"
			    "    { \"clock\": \"video\", \"hostTimeNs\": 2000, \"mediaTimeNs\": 7 },\n"
			    "    { \"clock\": \"audio\", \"hostTimeNs\": 1500, \"mediaTimeNs\": 9223372036854775807 },\n"
			    "    { \"clock\": \"video\", \"hostTimeNs\": 1000, \"mediaTimeNs\": 6 }\n  ]\n}\n");
	free(text);
	assert_int_equal(stat(document_path(fixture, "session.json"), &status), 0);
	assert_int_equal(status.st_mode & 0777, 0640);
	assert_int_equal(access(document_path(fixture, "anchors.jsonl"), F_OK), -1);
}

static void test_documents_of_any_shape(void **state)
{
	static const char *const good[] = { "{}",
					    " { } ",
					    "{\"anchors\":[]}",
					    "{\"anchors\" : [ ] , \"a\":1}",
					    "{\"a\":[{\"b\":\"]}\"}]}",
					    "{\"anchors\":[],\"anchors\":[]}",
					    "{\"anchors\": [{\"clock\": \"x\", \"hostTimeNs\": 5, \"mediaTimeNs\": 5}]}" };
	static const char *const bad[] = { "",
					   "[]",
					   "null",
					   "{",
					   "{\"a\":1",
					   "{\"a\" 1}",
					   "{\"anchors\": 7}",
					   "{\"anchors\": {}}",
					   "{\"anchors\": null}",
					   "{\"anchors\": [}}",
					   "{a}",
					   "{\"\\" };
	struct fixture *fixture = *state;
	struct atf_message message;
	char *text;

	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		put_file(fixture, "session.json", good[i]);
		assert_int_equal(store(fixture, "a", 2000, 7, &message), 0);
		assert_int_equal(store(fixture, "a", 3000, 8, &message), 0);
		assert_non_null(strstr(stored(fixture, &message), "a 2000 7, a 3000 8"));
		assert_string_equal(message.text, "");
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		put_file(fixture, "session.json", bad[i]);
		assert_int_equal(store(fixture, "a", 2000, 7, &message), -ATF_ERROR_CORRUPT);
		assert_non_null(strstr(message.text, "session.json"));
		text = read_text(fixture, "session.json");
		assert_string_equal(text, bad[i]);
		free(text);
		assert_string_equal(stored(fixture, &message), "");
	}
}

static void test_nonsense(void **state)
{
	struct fixture *fixture = *state;
	struct ada_timing_anchor endless = { .hostTimeNs = 5, .mediaTimeNs = 5 };
	struct atf_message message;

	put_file(fixture, "session.json", DOCUMENT);
	assert_int_equal(store(fixture, "video", 2000, 7000, &message), 0);
	assert_int_equal(store(fixture, "video", 1999, 7000, &message), -ATF_ERROR_INVALID);
	assert_int_equal(store(fixture, "video", 2000, 7001, &message), -ATF_ERROR_INVALID);
	assert_int_equal(store(fixture, "video", 2001, 6999, &message), -ATF_ERROR_INVALID);
	assert_non_null(strstr(message.text, "host time 2000 ns, media time 7000 ns"));
	assert_int_equal(store(fixture, "audio", 2001, 6999, &message), 0);
	assert_int_equal(store(fixture, "video", 0, 1, &message), -ATF_ERROR_INVALID);
	assert_int_equal(store(fixture, "video", 1, UINT64_MAX, &message), -ATF_ERROR_INVALID);
	assert_int_equal(store(fixture, "video", ada_get_timestamp_ns() + 5000000000, 9000, &message), -ATF_ERROR_INVALID);
	assert_non_null(strstr(message.text, "ahead of now"));
	assert_int_equal(store(fixture, "boot", 1, 1, &message), -ATF_ERROR_INVALID);
	assert_non_null(strstr(message.text, "ada's own"));
	assert_int_equal(store(fixture, "", 1, 1, &message), -ATF_ERROR_INVALID);
	memset(endless.clock, 'a', sizeof endless.clock);
	assert_int_equal(atf_session_anchor(fixture->directory, &endless, &message), -ATF_ERROR_INVALID);
	assert_string_equal(stored(fixture, &message), "audio 2001 6999, video 2000 7000");
	/* A session of another day on a host that was started again since: its own end is what lies behind. */
	put_file(fixture, "session.json", "{\"startNs\": 9000000000000000000, \"endNs\": 9000000000000001000}");
	assert_int_equal(store(fixture, "video", 9000000000000001000, 1, &message), 0);
	assert_int_equal(store(fixture, "video", 9000000000000001001, 2, &message), -ATF_ERROR_INVALID);
}

static void test_places(void **state)
{
	struct fixture *fixture = *state;
	struct ada_timing_anchor anchor = anchor_of("video", 2000, 7);
	struct ada_timing_anchor *anchors;
	struct atf_message message;
	char path[128];
	size_t count;

	assert_int_equal(atf_session_anchor("/nonexistent", &anchor, &message), -ATF_ERROR_SYSTEM);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(atf_session_anchor(fixture->directory, &anchor, &message), -ATF_ERROR_INVALID);
	assert_non_null(strstr(message.text, "holds no session.json"));
	put_file(fixture, "session.json", DOCUMENT);
	assert_int_equal(atf_session_anchor(document_path(fixture, "session.json"), &anchor, &message), -ATF_ERROR_INVALID);
	snprintf(path, sizeof path, "%s/pid_1", fixture->directory);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(atf_session_anchor(path, &anchor, &message), 0);
	assert_int_equal(atf_session_anchors(path, &anchors, &count, &message), 0);
	assert_int_equal(count, 1);
	free(anchors);
	assert_int_equal(unlink(document_path(fixture, "session.json")), 0);
	assert_int_equal(mkfifo(document_path(fixture, "session.json"), 0600), 0);
	assert_int_equal(atf_session_anchor(fixture->directory, &anchor, &message), -ATF_ERROR_SYSTEM); /* not waited for */
	assert_int_equal(rmdir(path), 0);
}

/* --- beside another writer --------------------------------------------------------------------------------------------- */

static int hold(const struct fixture *fixture)
{
	int fd = open(fixture->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_int_equal(flock(fd, LOCK_EX), 0);
	return fd;
}

static void test_while_another_writes(void **state)
{
	struct fixture *fixture = *state;
	struct atf_message message;
	char *text;
	int fd;

	put_file(fixture, "session.json", DOCUMENT);
	assert_int_equal(store(fixture, "video", 1000, 1, &message), 0);
	fd = hold(fixture);
	text = read_text(fixture, "session.json");
	assert_int_equal(store(fixture, "video", 2000, 2, &message), 0);
	assert_int_equal(store(fixture, "video", 2500, 2, &message), -ATF_ERROR_INVALID); /* it knows of both files */
	assert_int_equal(store(fixture, "video", 3000, 3, &message), 0);
	assert_int_equal(store(fixture, "video", 3000, 3, &message), 0);
	put_file(fixture, "session.json", text); /* as the other would */
	free(text);
	assert_string_equal(stored(fixture, &message), "video 1000 1, video 2000 2, video 3000 3");
	text = read_text(fixture, "anchors.jsonl");
	assert_string_equal(text, "{ \"clock\": \"video\", \"hostTimeNs\": 2000, \"mediaTimeNs\": 2 }\n"
				  "{ \"clock\": \"video\", \"hostTimeNs\": 3000, \"mediaTimeNs\": 3 }\n");
	free(text);
	close(fd);
	/* The next one takes them all into session.json, and each counts once. */
	assert_int_equal(store(fixture, "video", 4000, 4, &message), 0);
	assert_string_equal(stored(fixture, &message), "video 1000 1, video 2000 2, video 3000 3, video 4000 4");
	assert_int_equal(unlink(document_path(fixture, "anchors.jsonl")), 0);
	assert_string_equal(stored(fixture, &message), "video 1000 1, video 2000 2, video 3000 3, video 4000 4");
}

/* What a full disk cut off stays one line that is none; a planted link is not followed. */
static void test_journal_in_ruins(void **state)
{
	struct fixture *fixture = *state;
	struct atf_message message;
	int fd = hold(fixture);

	put_file(
		fixture, "session.json",
		"{\"anchors\": [7, {\"clock\": \"a\"}, {\"clock\": \"a\", \"hostTimeNs\": 5, \"mediaTimeNs\": 1.5},"
		"{\"clock\": \"b\\u0061\", \"hostTimeNs\": 5, \"mediaTimeNs\": 1}, {\"clock\": \"a\", \"hostTimeNs\": -5, \"mediaTimeNs\": 1},"
		"{\"clock\": \"a\", \"hostTimeNs\": 18446744073709551616, \"mediaTimeNs\": 1}, {\"mediaTimeNs\": 9, \"x\": [{}], \"hostTimeNs\": 8, \"clock\": \"a\"}]}");
	put_file(fixture, "anchors.jsonl", "{ \"clock\": \"video\", \"hostTi");
	assert_int_equal(store(fixture, "video", 2000, 7, &message), 0);
	assert_string_equal(stored(fixture, &message), "a 8 9, video 2000 7");
	assert_non_null(strstr(message.text, "7 of the anchors make no sense"));
	assert_int_equal(unlink(document_path(fixture, "anchors.jsonl")), 0);
	assert_int_equal(symlink("elsewhere", document_path(fixture, "anchors.jsonl")), 0);
	assert_int_equal(store(fixture, "video", 2000, 7, &message), -ATF_ERROR_SYSTEM);
	assert_int_equal(access(document_path(fixture, "elsewhere"), F_OK), -1);
	assert_int_equal(unlink(document_path(fixture, "anchors.jsonl")), 0);
	close(fd);
	/* Two that contradict each other: the later one goes. */
	put_file(fixture, "session.json",
		 "{\"anchors\": [{\"clock\": \"a\", \"hostTimeNs\": 8, \"mediaTimeNs\": 4},"
		 "{\"clock\": \"a\", \"hostTimeNs\": 5, \"mediaTimeNs\": 9}]}");
	assert_string_equal(stored(fixture, &message), "a 5 9");
	assert_non_null(strstr(message.text, "1 of the anchors makes no sense"));
}

static void test_full(void **state)
{
	struct fixture *fixture = *state;
	struct atf_message message;
	char *text = malloc(600000);
	int fd = hold(fixture);

	memset(text, ' ', 512 << 10);
	text[512 << 10] = 0;
	put_file(fixture, "session.json", DOCUMENT);
	put_file(fixture, "anchors.jsonl", text);
	assert_int_equal(store(fixture, "video", 2000, 7, &message), -ATF_ERROR_FULL);
	free(text);
	close(fd);
}

/* Four that store, and one that does what a recorder does: lock, read, change a number, write, unlock. */
static void test_many_writers(void **state)
{
	struct fixture *fixture = *state;
	struct atf_message message;
	struct ada_timing_anchor *anchors;
	size_t count;
	pid_t children[5];
	char *text;
	int status;

	put_file(fixture, "session.json", "{\n  \"round\": 000\n}\n");
	for (int who = 0; who < 5; who++) {
		children[who] = fork();
		for (int i = 1; !children[who] && i <= 60; i++) {
			char clock[16], new[128], digits[4];
			int fd;

			snprintf(clock, sizeof clock, "clock%d", who);
			if (who < 4 && store(fixture, clock, (uint64_t)i, (uint64_t)i, &message))
				_exit(1);
			if (who < 4)
				continue;
			fd = hold(fixture);
			text = read_text(fixture, "session.json");
			snprintf(digits, sizeof digits, "%03d", i);
			memcpy(text + strlen("{\n  \"round\": "), digits, 3);
			put_file(fixture, "session.json.new", text);
			snprintf(new, sizeof new, "%s/session.json.new", fixture->directory);
			rename(new, document_path(fixture, "session.json"));
			free(text);
			close(fd);
		}
		if (!children[who])
			_exit(0);
	}
	for (int who = 0; who < 5; who++) {
		assert_int_equal(waitpid(children[who], &status, 0), children[who]);
		assert_int_equal(status, 0);
	}
	assert_int_equal(atf_session_anchors(fixture->directory, &anchors, &count, &message), 0);
	assert_string_equal(message.text, "");
	assert_int_equal(count, 240);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(anchors[i].hostTimeNs, i % 60 + 1);
	free(anchors);
	text = read_text(fixture, "session.json");
	assert_non_null(strstr(text, "\"round\": 060"));
	free(text);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		FIXTURE_TEST(test_taking),
		FIXTURE_TEST(test_one_anchor),
		FIXTURE_TEST(test_drift),
		FIXTURE_TEST(test_edges),
		FIXTURE_TEST(test_there_and_back),
		FIXTURE_TEST(test_storing),
		FIXTURE_TEST(test_documents_of_any_shape),
		FIXTURE_TEST(test_nonsense),
		FIXTURE_TEST(test_places),
		FIXTURE_TEST(test_while_another_writes),
		FIXTURE_TEST(test_journal_in_ruins),
		FIXTURE_TEST(test_full),
		FIXTURE_TEST(test_many_writers),
	};

	return cmocka_run_group_tests_name("atf-anchor", tests, NULL, NULL);
}
