/* ClickHouse over HTTP, by libcurl, which is loaded when the first server is named. */
#include "query/clickhouse/http.h"
#include <curl/curl.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/interrupt.h"
#include "base/library.h"

#define GREETING "SELECT 'ada', version()"
#define GREETING_SECONDS 10
#define SILENT_SECONDS 300 /* a server that says and takes nothing for so long is gone */
#define ANSWER_MAX (64u << 20)
#define UPLOAD_BUFFER (512 << 10)

#define FUNCTIONS(X)                                                                                                                       \
	X(curl_, global_init)                                                                                                              \
	X(curl_, easy_init)                                                                                                                \
	X(curl_, easy_reset)                                                                                                               \
	X(curl_, easy_setopt)                                                                                                              \
	X(curl_, easy_perform)                                                                                                             \
	X(curl_, easy_getinfo)                                                                                                             \
	X(curl_, easy_strerror)                                                                                                            \
	X(curl_, easy_escape)                                                                                                              \
	X(curl_, easy_cleanup)                                                                                                             \
	X(curl_, slist_append)                                                                                                             \
	X(curl_, slist_free_all)                                                                                                           \
	X(curl_, free)
static struct {
	FUNCTIONS(ADA_LIBRARY_POINTER)
} curl;
static const char *const names[] = { FUNCTIONS(ADA_LIBRARY_NAME) };

struct answer {
	ADA_ARRAY(char) text;
};

static size_t take_answer(char *bytes, size_t size, size_t count, void *context)
{
	struct answer *answer = context;

	count *= size;
	if (answer->text.count + count > ANSWER_MAX || ada_array_reserve(&answer->text, count + 1))
		return 0;
	memcpy(answer->text.items + answer->text.count, bytes, count);
	answer->text.count += count;
	return count;
}

static int look_up(void *context, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
	return ada_interrupted();
}

int ada_clickhouse_open(struct ada_clickhouse_server *server, const char *url, const struct ada_clickhouse_login *login,
			struct ada_error *error)
{
	size_t length = strlen(url);
	int status;

	*server = (struct ada_clickhouse_server){ .login = login };
	if (strncmp(url, "http://", 7) && strncmp(url, "https://", 8))
		return ada_error_set(error, EINVAL, "--url=%s: write it as http://HOST:8123", url);
	if (url[strcspn(url, "@?#")])
		return ada_error_set(error, EINVAL, "--url: write it as http://HOST:8123, and use --user and --password-file to log in");
	status = ada_library_open(ADA_LIBCURL, &curl, names, sizeof names / sizeof *names, error);
	if (status)
		return status;
	while (length && url[length - 1] == '/')
		length--;
	server->url = strndup(url, length);
	server->curl = server->url && !curl.global_init(CURL_GLOBAL_DEFAULT) ? curl.easy_init() : NULL;
	return server->curl ? 0 : ada_error_system(error, ENOMEM, "--url=%s", url);
}

void ada_clickhouse_close(struct ada_clickhouse_server *server)
{
	if (server->curl)
		curl.easy_cleanup(server->curl);
	free(server->url);
	*server = (struct ada_clickhouse_server){};
}

static void set_common(struct ada_clickhouse_server *server, struct answer *answer, char message[CURL_ERROR_SIZE])
{
	curl.easy_reset(server->curl);
	curl.easy_setopt(server->curl, CURLOPT_ERRORBUFFER, message);
	curl.easy_setopt(server->curl, CURLOPT_PROTOCOLS_STR, "http,https");
	curl.easy_setopt(server->curl, CURLOPT_NOSIGNAL, 1L);
	curl.easy_setopt(server->curl, CURLOPT_CONNECTTIMEOUT, (long)GREETING_SECONDS);
	curl.easy_setopt(server->curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
	curl.easy_setopt(server->curl, CURLOPT_LOW_SPEED_TIME, (long)SILENT_SECONDS);
	curl.easy_setopt(server->curl, CURLOPT_TCP_KEEPALIVE, 1L);
	curl.easy_setopt(server->curl, CURLOPT_NOPROGRESS, 0L);
	curl.easy_setopt(server->curl, CURLOPT_XFERINFOFUNCTION, look_up);
	curl.easy_setopt(server->curl, CURLOPT_WRITEFUNCTION, take_answer);
	curl.easy_setopt(server->curl, CURLOPT_WRITEDATA, answer);
	curl.easy_setopt(server->curl, CURLOPT_POST, 1L);
	if (!server->login->user)
		return;
	curl.easy_setopt(server->curl, CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
	curl.easy_setopt(server->curl, CURLOPT_USERNAME, server->login->user);
	curl.easy_setopt(server->curl, CURLOPT_PASSWORD, server->login->password);
}

/* Makes one line of the text, without the end that every exception has. */
static void tidy(char *text)
{
	char *end = strstr(text, ", e.what()");
	char *from = strstr(text, "e.displayText() = DB::Exception: ");

	if (end)
		*end = 0;
	if (from)
		memmove(text, from + 33, strlen(from + 33) + 1);
	for (char *c = text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 127)
			*c = ' ';
	for (end = text + strlen(text); end > text && end[-1] == ' '; end--)
		end[-1] = 0;
	if (strlen(text) > 300)
		strcpy(text + 297, "...");
}

static int say_failed(const struct ada_clickhouse_server *server, CURLcode code, const char *message, struct ada_error *error)
{
	const char *what = *message ? message : curl.easy_strerror(code);

	switch (code) {
	case CURLE_ABORTED_BY_CALLBACK: return ada_error_set(error, EINTR, "interrupted: the same command goes on from here");
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_URL_MALFORMAT:
		return ada_error_set(error, EHOSTUNREACH, "%s: %s: --url=http://HOST:8123 names the server", server->url, what);
	case CURLE_COULDNT_CONNECT:
		return ada_error_set(error, ECONNREFUSED, "%s: %s: is clickhouse-server running there?", server->url, what);
	case CURLE_OPERATION_TIMEDOUT:
		return ada_error_set(error, ETIMEDOUT, "%s: %s: does a ClickHouse server answer there?", server->url, what);
	default:
		return ada_error_set(error, EPIPE, "%s: %s: once the server is back, the same command goes on from here", server->url,
				     what);
	}
}

static int say_refused(const struct ada_clickhouse_server *server, long status, char *text, struct ada_error *error)
{
	bool exception = !strncmp(text, "Code: ", 6) || strstr(text, "DB::Exception");

	if (!exception)
		return ada_error_set(error, EREMOTEIO,
				     "%s: answers with HTTP status %ld, and not as ClickHouse does: --url names its HTTP "
				     "port, by default 8123",
				     server->url, status);
	tidy(text);
	if (status == 401)
		return ada_error_set(error, EACCES, "%s: ClickHouse refuses: %s: see --user and --password-file", server->url, text);
	return ada_error_set(error, EREMOTEIO, "%s: ClickHouse says: %s", server->url, text);
}

/* The answer's text is terminated. */
static int perform(struct ada_clickhouse_server *server, struct answer *answer, const char *message, struct ada_error *error)
{
	CURLcode code = curl.easy_perform(server->curl);
	long status = 0;

	if (ada_interrupted())
		code = CURLE_ABORTED_BY_CALLBACK;
	if (ada_array_push(&answer->text, '\0'))
		return ada_error_system(error, ENOMEM, "%s", server->url);
	curl.easy_getinfo(server->curl, CURLINFO_RESPONSE_CODE, &status);
	/* A server that refuses an insert in the middle may say why and close the connection at once. */
	if (status >= 300 && code != CURLE_ABORTED_BY_CALLBACK && answer->text.count > 1)
		return say_refused(server, status, answer->text.items, error);
	if (code)
		return say_failed(server, code, message, error);
	if (status != 200 || !strncmp(answer->text.items, "Code: ", 6))
		return say_refused(server, status, answer->text.items, error);
	return 0;
}

static int ask(struct ada_clickhouse_server *server, const char *statement, long seconds, char **wanted, struct ada_error *error)
{
	char message[CURL_ERROR_SIZE] = "";
	struct answer answer = {};
	int result;

	set_common(server, &answer, message);
	curl.easy_setopt(server->curl, CURLOPT_URL, server->url);
	curl.easy_setopt(server->curl, CURLOPT_POSTFIELDS, statement);
	curl.easy_setopt(server->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(statement));
	if (seconds)
		curl.easy_setopt(server->curl, CURLOPT_TIMEOUT, seconds);
	result = perform(server, &answer, message, error);
	if (wanted && !result)
		*wanted = answer.text.items;
	else
		ada_array_free(&answer.text);
	return result;
}

int ada_clickhouse_greet(struct ada_clickhouse_server *server, struct ada_error *error)
{
	char *answer = NULL;
	int result = ask(server, GREETING, GREETING_SECONDS, &answer, error);

	if (!result && strncmp(answer, "ada\t", 4))
		result = ada_error_set(error, EREMOTEIO,
				       "%s: answers, but not as ClickHouse does: --url names its HTTP port, by default "
				       "8123",
				       server->url);
	free(answer);
	return result;
}

int ada_clickhouse_ask(struct ada_clickhouse_server *server, char **answer, struct ada_error *error, const char *format, ...)
{
	char *statement = NULL;
	va_list arguments;
	int result;

	va_start(arguments, format);
	result = vasprintf(&statement, format, arguments);
	va_end(arguments);
	if (result < 0)
		return ada_error_system(error, ENOMEM, "%s", server->url);
	result = ask(server, statement, 0, answer, error);
	free(statement);
	return result;
}

struct upload {
	ada_clickhouse_source *source;
	void *context;
};

static size_t give_bytes(char *bytes, size_t size, size_t count, void *context)
{
	struct upload *upload = context;

	return ada_interrupted() ? CURL_READFUNC_ABORT : upload->source(upload->context, bytes, size * count);
}

int ada_clickhouse_insert(struct ada_clickhouse_server *server, const char *statement, uint64_t length, ada_clickhouse_source *source,
			  void *context, struct ada_error *error)
{
	struct curl_slist *headers = curl.slist_append(NULL, "Expect:");
	struct upload upload = { .source = source, .context = context };
	char *escaped = curl.easy_escape(server->curl, statement, 0);
	char message[CURL_ERROR_SIZE] = "", *url = NULL;
	struct answer answer = {};
	int result;

	/* One insert is one block, so one part of the table: it is there or not, unless the connection breaks between two rows. */
	if (!headers || !escaped || asprintf(&url, "%s/?max_insert_block_size=1048576&query=%s", server->url, escaped) < 0) {
		url = NULL;
		result = ada_error_system(error, ENOMEM, "%s", server->url);
		goto out;
	}
	set_common(server, &answer, message);
	curl.easy_setopt(server->curl, CURLOPT_URL, url);
	curl.easy_setopt(server->curl, CURLOPT_HTTPHEADER, headers);
	/* On a connection that the server is about to close the insert would be sent twice, or fail. */
	curl.easy_setopt(server->curl, CURLOPT_FRESH_CONNECT, 1L);
	curl.easy_setopt(server->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)length);
	curl.easy_setopt(server->curl, CURLOPT_READFUNCTION, give_bytes);
	curl.easy_setopt(server->curl, CURLOPT_READDATA, &upload);
	curl.easy_setopt(server->curl, CURLOPT_UPLOAD_BUFFERSIZE, (long)UPLOAD_BUFFER);
	result = perform(server, &answer, message, error);
out:
	ada_array_free(&answer.text);
	curl.slist_free_all(headers);
	curl.free(escaped);
	free(url);
	return result;
}
