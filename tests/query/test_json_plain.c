/* The quick way through plain JSON against json-c: what it takes is the same, and what is not plain is left to json-c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fixture.h"
#include "query/json.h"
#include "query/json_plain.h"

static bool same(const json_object *left, const json_object *right)
{
	enum json_type type = json_object_get_type(left);

	if (type != json_object_get_type(right))
		return false;
	if (type == json_type_array) {
		size_t length = json_object_array_length(left);
		bool all = length == json_object_array_length(right);

		for (size_t i = 0; i < length && all; i++)
			all = same(json_object_array_get_idx(left, i), json_object_array_get_idx(right, i));
		return all;
	}
	if (type == json_type_int)
		return json_object_get_int64(left) == json_object_get_int64(right) &&
		       json_object_get_uint64(left) == json_object_get_uint64(right);
	/* Objects by their keys in order, doubles by their text. */
	return !strcmp(json_object_to_json_string((json_object *)left), json_object_to_json_string((json_object *)right)) &&
	       json_object_equal((json_object *)left, (json_object *)right);
}

/* Whether it was taken, and as json-c takes it. */
static bool takes(const char *text)
{
	json_object *plain = ada_json_plain(text), *full;

	if (!plain)
		return false;
	full = json_tokener_parse(text);
	if (!full || !same(plain, full))
		fail_msg("not what json-c makes of it: %s", text);
	json_object_put(full);
	json_object_put(plain);
	return true;
}

static void test_plain(void **state)
{
	static const char *const texts[] = {
		"{}", " {\n} \t\r\n", "{\"a\":1}", "{\"id\":1,\"name\":\"x\",\"more\":[]}", "{\"\": \"\"}", "{\"a\":[1,[2,{\"a\":[]}]]}",
		"{\"a\":0,\"b\":-1,\"c\":9223372036854775807,\"d\":9223372036854775808,\"e\":9999999999999999999}",
		"{\"a\":-9223372036854775807,\"b\":1.5,\"c\":-0.25,\"d\":2e-9,\"e\":1E+5,\"f\":0.10,\"g\":1.25e3}",
		"{\"a\":true,\"b\":false,\"c\":null,\"id\":null}", "{\"a\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\",\"b\\n\":\"x\\ty\"}",
		"{\"a\":\"\xc3\xa4 \xff\x7f\"}", "{\"a\":1,\"a\":2}", "{\"b\":1,\"a\":1,\"b\":{\"c\":1}}", "{\"tids\":1,\"ti\":2,\"tid\":3,\"dit\":4}",
	};

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		if (!takes(texts[i]))
			fail_msg("not taken: %s", texts[i]);
}

static void test_not_plain(void **state)
{
	static const char *const texts[] = {
		"", " ", "[]", "1", "null", "\"a\"", "{", "}", "{]", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{,}", "{\"a\":1 \"b\":2}", "{\"a\":[1,]}",
		"{\"a\":[1 2]}", "{\"a\":[}", "{\"a\":\"x}", "{\"a\":\"\\", "{\"a\":\"\\x\"}", "{\"a\":\"\\u0041\"}", "{\"a\":\"\n\"}", "{'a':1}",
		"{a:1}", "{\"a\":01}", "{\"a\":-0}", "{\"a\":-}", "{\"a\":1.}", "{\"a\":.5}", "{\"a\":1e}", "{\"a\":1e+}", "{\"a\":+1}", "{\"a\":1x}",
		"{\"a\":99999999999999999999}", "{\"a\":-9223372036854775808}", "{\"a\":NaN}", "{\"a\":Infinity}", "{\"a\":True}", "{\"a\":nul}",
		"{\"a\":nulls}", "{} x", "{}{}", "/* */{}", "{\"a\":1 /* */}", "{\"id\":1,\"id\":2}", "{\"a\":\x01}",
		"{\"a\":[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]}", "{\"a\":1234567890123456789012345678901234567890.5}",
		"{\"a\":0.12345678901234567890123456789012345678901234567890}",
	};

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		assert_null(ada_json_plain(texts[i]));
}

/* What is not plain is json-c's: its values, its words for errors. */
static void test_left_to_json_c(void **state)
{
	struct ada_error error = {};
	json_object *object;

	assert_int_equal(ada_json_parse(&object, "{\"a\":\"\\u0041\",\"id\":1,\"id\":2}", "file", &error), 0);
	assert_string_equal(ada_json_text(object, "a", ""), "A");
	assert_int_equal(ada_json_u64(object, "id", 0), 2);
	json_object_put(object);
	assert_int_equal(ada_json_parse(&object, "{\"a\":1", "file", &error), -EBADMSG);
	assert_null(object);
	assert_string_equal(error.text, "file: not a JSON object: unexpected end of data");
	error = (struct ada_error){};
	assert_int_equal(ada_json_parse(&object, "[1]", "file", &error), -EBADMSG);
	assert_string_equal(error.text, "file: not a JSON object: another type");
}

static void test_long_strings(void **state)
{
	char text[2000];

	for (int length = 490; length < 1500; length += length < 520 ? 1 : 97) {
		snprintf(text, sizeof text, "{\"a\":\"%*d\"}", length, 1);
		assert_true(takes(text));
		snprintf(text, sizeof text, "{\"%*d\":1}", length, 1);
		assert_int_equal(takes(text), length < 512);
		snprintf(text, sizeof text, "{\"a\":\"\\n%*d\"}", length, 1);
		assert_int_equal(takes(text), length < 511);
	}
}

static char *manifest_of(const struct fixture *fixture)
{
	char path[PATH_MAX], *text = calloc(1, 1 << 16);
	FILE *file;

	assert_non_null(text);
	snprintf(path, sizeof path, "%s/pid_5/manifest.json", fixture->directory);
	file = fopen(path, "r");
	assert_non_null(file);
	assert_in_range(fread(text, 1, (1 << 16) - 1, file), 1000, (1 << 16) - 2);
	fclose(file);
	return text;
}

static char *make_manifest(struct fixture *fixture)
{
	static const char *const names[] = { "main", "leaf" };

	synth_process(fixture->synth, 5);
	synth_module(fixture->synth, "/bin/prog", names, 2);
	for (uint32_t i = 0; i < 3; i++) {
		struct synth_thread *thread = synth_thread(fixture->synth, 10 + i, "name");

		synth_pass(thread, 1000 * i);
		synth_capture(thread, true);
		synth_window(thread);
		synth_leaf(thread, 1, 10);
		synth_window_end(thread);
	}
	synth_close(fixture->synth, true);
	fixture->synth = NULL;
	return manifest_of(fixture);
}

/* Manifests are plain, also as the recorder formats them: else nothing is gained. */
static void test_manifest(void **state)
{
	char *text = make_manifest(*state);
	json_object *manifest = json_tokener_parse(text);

	assert_true(takes(text));
	assert_true(takes(json_object_to_json_string_ext(manifest, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED |
							 JSON_C_TO_STRING_NOSLASHESCAPE)));
	assert_true(takes(json_object_to_json_string_ext(manifest, JSON_C_TO_STRING_PLAIN)));
	json_object_put(manifest);
	free(text);
}

/* Whatever a byte becomes, or where the text ends: what is taken is what json-c takes. */
static void test_changed(void **state)
{
	static const char bytes[] = "{}[]\",:\\ 0123456789.-+eEtfnu/'\n\x01\xff" "idxa";
	char *text = make_manifest(*state);
	size_t length = strlen(text);
	unsigned int taken = 0, left = 0;
	uint64_t random = 1;

	for (unsigned int i = 0; i < 4000; i++) {
		char before[4];
		size_t at[4], changes = i % 4 + 1;

		for (size_t j = 0; j < changes; j++) {
			random = random * 6364136223846793005u + 1442695040888963407u;
			at[j] = (random >> 33) % length;
			before[j] = text[at[j]];
			text[at[j]] = bytes[(random >> 20) % (sizeof bytes - (i % 64 > 0))];	/* now and then the end */
		}
		takes(text) ? taken++ : left++;
		while (changes--)
			text[at[changes]] = before[changes];
	}
	assert_true(takes(text));
	assert_true(taken > 100 && left > 100);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_not_plain),
		cmocka_unit_test(test_left_to_json_c),
		cmocka_unit_test(test_long_strings),
		FIXTURE_TEST(test_manifest),
		FIXTURE_TEST(test_changed),
	};

	return cmocka_run_group_tests_name("json_plain", tests, NULL, NULL);
}
