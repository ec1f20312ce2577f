/* HTTP: who may ask, and what is answered.
 *
 * Anyone on this machine can reach the port, and so can any page in the user's browser. So a path begins with a token that nobody can
 * guess, and Host must name this server (a page of another name that resolves to 127.0.0.1 has another Host). The answers allow nothing
 * but this server's own scripts and styles.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/library.h"
#include "cli/view/view.h"

#define TOKEN_BYTES 16
#define THREADS 4 /* that answer: a report must not hold up the timeline */

#define FUNCTIONS(X)                                                                                                                       \
	X(MHD_, start_daemon)                                                                                                              \
	X(MHD_, get_daemon_info)                                                                                                           \
	X(MHD_, stop_daemon)                                                                                                               \
	X(MHD_, lookup_connection_value)                                                                                                   \
	X(MHD_, create_response_from_buffer)                                                                                               \
	X(MHD_, create_response_from_fd64)                                                                                                 \
	X(MHD_, add_response_header)                                                                                                       \
	X(MHD_, queue_response)                                                                                                            \
	X(MHD_, destroy_response)
static struct {
	FUNCTIONS(ADA_LIBRARY_POINTER)
} mhd; /* libmicrohttpd, loaded when a server begins */
static const char *const names[] = { FUNCTIONS(ADA_LIBRARY_NAME) };

struct ada_view_server {
	struct ada_view *view;
	struct MHD_Daemon *daemon;
	char token[2 * TOKEN_BYTES + 1];
	uint16_t port;
};

static const struct {
	const char *path;
	int (*answer)(struct ada_question *question);
} answers[] = {
	{ "session", ada_view_facts }, { "timeline", ada_view_timeline }, { "search", ada_view_search },
	{ "hit", ada_view_hit },       { "call", ada_view_call },	  { "command", ada_view_command },
};

const char *ada_question_text(const struct ada_question *question, const char *name)
{
	if (!question->connection) {
		for (const char *const *argument = question->arguments; *argument; argument += 2)
			if (!strcmp(argument[0], name))
				return argument[1];
		return NULL;
	}
	return mhd.lookup_connection_value(question->connection, MHD_GET_ARGUMENT_KIND, name);
}

int ada_question_number(struct ada_question *question, const char *name, uint64_t otherwise, uint64_t *number)
{
	const char *text = ada_question_text(question, name);
	char *end;

	*number = otherwise;
	if (!text)
		return 0;
	errno = 0;
	*number = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno)
		return ada_error_set(&question->error, EINVAL, "%s: no number", name);
	return 0;
}

int ada_question_view(struct ada_question *question, struct ada_zoom_view *view)
{
	uint64_t columns, depths;
	int status = ada_question_number(question, "from", 0, &view->from_ns);

	if (!status)
		status = ada_question_number(question, "to", UINT64_MAX, &view->to_ns);
	if (!status)
		status = ada_question_number(question, "columns", 1000, &columns);
	if (!status)
		status = ada_question_number(question, "depths", 64, &depths);
	if (status)
		return status;
	if (columns < 1 || columns > ADA_VIEW_COLUMNS || depths < 1 || depths > 4096 || view->from_ns >= view->to_ns)
		return ada_error_set(&question->error, EINVAL, "from < to, columns 1 to %u, depths 1 to 4096", ADA_VIEW_COLUMNS);
	view->columns = (uint32_t)columns;
	view->depths = (uint32_t)depths;
	view->from_ns = ada_view_absolute(question->view, view->from_ns);
	view->to_ns = ada_view_absolute(question->view, view->to_ns);
	return 0;
}

int ada_question_thread(struct ada_question *question, const struct ada_zoom_thread **thread)
{
	uint64_t number;
	int status = ada_question_number(question, "thread", UINT64_MAX, &number);

	if (!status && number >= question->view->session->threads.count)
		status = ada_error_set(&question->error, EINVAL, "thread: the session has %zu", question->view->session->threads.count);
	if (!status)
		*thread = &question->view->zoom.threads[number];
	return status;
}

/* --- responses ---------------------------------------------------------------------------------------------------------- */

static enum MHD_Result respond(struct MHD_Connection *connection, unsigned int code, const char *type, struct MHD_Response *response)
{
	enum MHD_Result result;

	if (!response)
		return MHD_NO;
	mhd.add_response_header(response, "Content-Type", type);
	mhd.add_response_header(response, "Cache-Control", "no-store");
	mhd.add_response_header(response, "Referrer-Policy", "no-referrer");
	mhd.add_response_header(response, "X-Content-Type-Options", "nosniff");
	mhd.add_response_header(response, "Content-Security-Policy",
				"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
				"base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
	result = mhd.queue_response(connection, code, response);
	mhd.destroy_response(response);
	return result;
}

static enum MHD_Result respond_text(struct MHD_Connection *connection, unsigned int code, const char *text)
{
	return respond(connection, code, "text/plain; charset=utf-8",
		       mhd.create_response_from_buffer(strlen(text), (void *)text, MHD_RESPMEM_MUST_COPY));
}

static unsigned int code_of(int status)
{
	switch (status) {
	case 0: return MHD_HTTP_OK;
	case -EAGAIN: return MHD_HTTP_ACCEPTED; /* of an error a browser would say so in its console */
	case -EINVAL: return MHD_HTTP_BAD_REQUEST;
	case -ENOENT: return MHD_HTTP_NOT_FOUND;
	default: return MHD_HTTP_INTERNAL_SERVER_ERROR;
	}
}

/* The answer is written into a file in memory, which is then sent. */
static enum MHD_Result respond_answer(struct ada_view *view, struct MHD_Connection *connection, int (*answer)(struct ada_question *))
{
	struct ada_question question = { .view = view, .connection = connection, .output = malloc(sizeof *question.output) };
	int fd = memfd_create("ada-answer", MFD_CLOEXEC), status = -ENOMEM;
	struct stat file;

	if (question.output && fd >= 0) {
		ada_output_open(question.output, fd);
		status = answer(&question);
		if (!status && !ada_output_flush(question.output))
			status = ada_error_system(&question.error, question.output->error, "can't answer");
	}
	free(question.output);
	if (!status && fstat(fd, &file))
		status = -errno;
	if (!status)
		return respond(connection, MHD_HTTP_OK, "application/json",
			       mhd.create_response_from_fd64((uint64_t)file.st_size, fd)); /* which closes it */
	if (fd >= 0)
		close(fd);
	return respond_text(connection, code_of(status), *question.error.text ? question.error.text : strerror(-status));
}

/* --- requests ----------------------------------------------------------------------------------------------------------- */

/* Takes as long whatever is wrong. */
static bool is_token(const struct ada_view_server *server, const char *path)
{
	unsigned char different = 0;

	if (strlen(path) < sizeof server->token || path[0] != '/')
		return false;
	for (size_t i = 0; i < sizeof server->token - 1; i++)
		different |= (unsigned char)(path[1 + i] ^ server->token[i]);
	return !different;
}

static bool is_own_host(const struct ada_view_server *server, const char *host)
{
	char wanted[2][32];

	snprintf(wanted[0], sizeof wanted[0], "127.0.0.1:%u", server->port);
	snprintf(wanted[1], sizeof wanted[1], "localhost:%u", server->port);
	return host && (!strcmp(host, wanted[0]) || !strcmp(host, wanted[1]));
}

static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *path, const char *method, const char *version,
			      const char *data, size_t *data_length, void **state)
{
	const struct ada_view_server *server = context;
	const char *rest = path + sizeof server->token;

	if (!is_own_host(server, mhd.lookup_connection_value(connection, MHD_HEADER_KIND, "Host")))
		return respond_text(connection, MHD_HTTP_FORBIDDEN, "This address is not served here.\n");
	if (!is_token(server, path) || (*rest && *rest != '/'))
		return respond_text(connection, MHD_HTTP_FORBIDDEN, "Open the whole address that `ada view` printed.\n");
	if (strcmp(method, "GET"))
		return respond_text(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "Only GET is answered.\n");
	if (*rest != '/')
		return respond_text(connection, MHD_HTTP_NOT_FOUND, "The address ends with a slash.\n");
	rest++;
	for (size_t i = 0; i < sizeof answers / sizeof *answers; i++)
		if (!strcmp(rest, answers[i].path))
			return respond_answer(server->view, connection, answers[i].answer);
	for (size_t i = 0; i < ada_page_file_count; i++)
		if (!strcmp(*rest ? rest : "index.html", ada_page_files[i].name))
			return respond(connection, MHD_HTTP_OK, ada_page_files[i].type,
				       mhd.create_response_from_buffer(ada_page_files[i].length, (void *)ada_page_files[i].bytes,
								       MHD_RESPMEM_PERSISTENT));
	return respond_text(connection, MHD_HTTP_NOT_FOUND, "There is no such page.\n");
}

struct ada_view_server *ada_view_serve(struct ada_view *view, uint16_t port, char url[ADA_VIEW_URL], struct ada_error *error)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = { htonl(INADDR_LOOPBACK) } };
	struct ada_view_server *server = calloc(1, sizeof *server);
	unsigned char random[TOKEN_BYTES];
	const union MHD_DaemonInfo *info;

	if (ada_library_open(ADA_LIBMICROHTTPD, &mhd, names, sizeof names / sizeof *names, error))
		goto failed;
	if (!server || getrandom(random, sizeof random, 0) != sizeof random) {
		ada_error_set(error, ENOMEM, "out of memory");
		goto failed;
	}
	for (size_t i = 0; i < sizeof random; i++)
		snprintf(server->token + 2 * i, 3, "%02x", random[i]);
	server->view = view;
	server->daemon = mhd.start_daemon(MHD_USE_AUTO_INTERNAL_THREAD, port, NULL, NULL, handle, server, MHD_OPTION_SOCK_ADDR, &address,
					  MHD_OPTION_THREAD_POOL_SIZE, THREADS, MHD_OPTION_CONNECTION_TIMEOUT, 120u, MHD_OPTION_END);
	if (!server->daemon) {
		ada_error_system(error, errno ? errno : EADDRINUSE, "can't listen on 127.0.0.1, port %u", port);
		goto failed;
	}
	info = mhd.get_daemon_info(server->daemon, MHD_DAEMON_INFO_BIND_PORT);
	server->port = info ? info->port : port;
	snprintf(url, ADA_VIEW_URL, "http://127.0.0.1:%u/%s/", server->port, server->token);
	return server;
failed:
	free(server);
	return NULL;
}

void ada_view_server_stop(struct ada_view_server *server)
{
	mhd.stop_daemon(server->daemon);
	free(server);
}
