/* Libraries of Debian, every function of them patched in this process, still give the answers that they are known for. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include "apply.h"
#include <stdio.h>
#include "../test.h"

#define TEXT_BYTES (1 << 20)

static void *need(void *library, const char *name)
{
	void *function = dlsym(library, name);

	assert_non_null(function);
	return function;
}

static void *load(const char *path, uint64_t **calls)
{
	struct ada_plan *plan;
	void *library;

	if (!dlopen(path, RTLD_NOW | RTLD_LOCAL))
		test_skip("needs the library");
	library = apply_load(path, calls, &plan);
	assert_non_null(library);
	assert_true(ada_plan_header(plan)->hook_count > 50);
	ada_plan_close(plan);
	return library;
}

static char *make_text(void)
{
	char *text = malloc(TEXT_BYTES);
	uint32_t state = 1;

	assert_non_null(text);
	for (size_t i = 0; i < TEXT_BYTES; i++) {
		state = state * 1664525 + 1013904223;
		text[i] = "etaoin shrdlu\n"[(state >> 24) % 14 * ((state >> 20 & 3) != 0)];
	}
	return text;
}

static void test_libz(void **unused)
{
	uint64_t *calls;
	void *library = load("libz.so.1", &calls);
	int (*compress2)(void *, unsigned long *, const void *, unsigned long, int) = need(library, "compress2");
	int (*uncompress)(void *, unsigned long *, const void *, unsigned long) = need(library, "uncompress");
	unsigned long (*crc32)(unsigned long, const void *, unsigned) = need(library, "crc32");
	char *text = make_text(), *packed = malloc(2 * TEXT_BYTES), *again = malloc(TEXT_BYTES);

	assert_int_equal(crc32(0, "123456789", 9), 0xcbf43926);
	for (int level = 0; level <= 9; level++) {
		unsigned long packed_bytes = 2 * TEXT_BYTES, bytes = TEXT_BYTES;

		assert_int_equal(compress2(packed, &packed_bytes, text, TEXT_BYTES, level), 0);
		assert_int_equal(uncompress(again, &bytes, packed, packed_bytes), 0);
		assert_int_equal(bytes, TEXT_BYTES);
		assert_memory_equal(text, again, TEXT_BYTES);
	}
	assert_true(*calls > 1000);
	free(text);
	free(packed);
	free(again);
}

static void test_libzstd(void **unused)
{
	uint64_t *calls;
	void *library = load("libzstd.so.1", &calls);
	size_t (*compress)(void *, size_t, const void *, size_t, int) = need(library, "ZSTD_compress");
	size_t (*decompress)(void *, size_t, const void *, size_t) = need(library, "ZSTD_decompress");
	char *text = make_text(), *packed = malloc(2 * TEXT_BYTES), *again = malloc(TEXT_BYTES);

	for (int level = 1; level <= 10; level += 3) {
		size_t packed_bytes = compress(packed, 2 * TEXT_BYTES, text, TEXT_BYTES, level);

		assert_true(packed_bytes < TEXT_BYTES);
		assert_int_equal(decompress(again, TEXT_BYTES, packed, packed_bytes), TEXT_BYTES);
		assert_memory_equal(text, again, TEXT_BYTES);
	}
	assert_true(*calls > 1000);
	free(text);
	free(packed);
	free(again);
}

static void check_digest(void *library, const char *algorithm, const char *expected)
{
	int (*digest)(void *, const char *, const char *, const void *, size_t, unsigned char *, size_t *) = need(library, "EVP_Q_digest");
	unsigned char value[64];
	char hex[129];
	size_t bytes = 0;

	assert_int_equal(digest(NULL, algorithm, NULL, "abc", 3, value, &bytes), 1);
	for (size_t i = 0; i < bytes; i++)
		sprintf(hex + 2 * i, "%02x", value[i]);
	assert_string_equal(hex, expected);
}

/* An RSA key pair made, used to sign, and the signature verified: bignums, random numbers, and the provider machinery. */
static void check_rsa(void *library)
{
	void *(*keygen)(void *, const char *, const char *, ...) = need(library, "EVP_PKEY_Q_keygen");
	void *(*new_context)(void) = need(library, "EVP_MD_CTX_new");
	const void *(*sha256)(void) = need(library, "EVP_sha256");
	int (*sign_init)(void *, void *, const void *, void *, void *) = need(library, "EVP_DigestSignInit");
	int (*sign)(void *, unsigned char *, size_t *, const void *, size_t) = need(library, "EVP_DigestSign");
	int (*verify_init)(void *, void *, const void *, void *, void *) = need(library, "EVP_DigestVerifyInit");
	int (*verify)(void *, const unsigned char *, size_t, const void *, size_t) = need(library, "EVP_DigestVerify");
	void (*free_context)(void *) = need(library, "EVP_MD_CTX_free"), (*free_key)(void *) = need(library, "EVP_PKEY_free");
	void *key = keygen(NULL, NULL, "RSA", (size_t)1024), *context = new_context();
	unsigned char signature[256];
	size_t bytes = sizeof signature;

	assert_non_null(key);
	assert_int_equal(sign_init(context, NULL, sha256(), NULL, key), 1);
	assert_int_equal(sign(context, signature, &bytes, "abc", 3), 1);
	free_context(context);
	context = new_context();
	assert_int_equal(verify_init(context, NULL, sha256(), NULL, key), 1);
	assert_int_equal(verify(context, signature, bytes, "abc", 3), 1);
	assert_int_not_equal(verify(context, signature, bytes, "abd", 3), 1);
	free_context(context);
	free_key(key);
}

static void test_libcrypto(void **unused)
{
	uint64_t *calls;
	void *library = load("libcrypto.so.3", &calls);

	check_digest(library, "SHA256", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	check_digest(library, "MD5", "900150983cd24fb0d6963f7d28e17f72");
	check_digest(library, "SHA3-256", "3a985da74fe225b2045c172d6bd390bd855f086e3e9d525b46bfe24511431532");
	check_digest(library, "SHA512",
		     "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
		     "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f");
	check_rsa(library);
	assert_true(*calls > 10000);
}

static int first_column(void *result, int count, char **values, char **names)
{
	snprintf(result, 64, "%s", count && values[0] ? values[0] : "");
	return 0;
}

static void test_libsqlite3(void **unused)
{
	uint64_t *calls;
	void *library = load("libsqlite3.so.0", &calls), *database;
	int (*open_database)(const char *, void **) = need(library, "sqlite3_open");
	int (*exec)(void *, const char *, int (*)(void *, int, char **, char **), void *, char **) = need(library, "sqlite3_exec");
	int (*close_database)(void *) = need(library, "sqlite3_close");
	char result[64];

	assert_int_equal(open_database(":memory:", &database), 0);
	assert_int_equal(exec(database,
			      "create table t(a integer primary key, b text); create index i on t(b);"
			      "with recursive n(x) as (select 1 union all select x + 1 from n where x < 20000)"
			      "insert into t select x, printf('%08d', x * 7919 % 20011) from n;",
			      NULL, NULL, NULL),
			 0);
	assert_int_equal(exec(database, "select sum(a) from t", first_column, result, NULL), 0);
	assert_string_equal(result, "200010000");
	assert_int_equal(exec(database, "select count(*) from t x join t y on x.b < y.b and y.a = x.a + 1", first_column, result, NULL), 0);
	assert_true(atoi(result) > 5000 && atoi(result) < 15000);
	assert_int_equal(close_database(database), 0);
	assert_true(*calls > 100000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_libz),
		cmocka_unit_test(test_libzstd),
		cmocka_unit_test(test_libcrypto),
		cmocka_unit_test(test_libsqlite3),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
