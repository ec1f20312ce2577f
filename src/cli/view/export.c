/* The page as one file that needs no server: its scripts and styles in it, and the answers to what may be asked of a range.
 *
 * The scripts are the served ones. As modules they name each other; in a file they are data: addresses, to which an import map leads from
 * those names. The answers are one object, which page/baked.js answers from. A policy in the file forbids it every connection.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/file.h"
#include "base/units.h"
#include "cli/view/view.h"

/* Together small enough to be attached to a report of a bug. */
#define PICTURE_BYTES (3u << 20) /* of the slices: a wider picture has shorter calls, each its own */
#define COLUMNS_LEAST 64u
#define DEPTHS "256"
#define DETAILS_BYTES (2u << 20) /* of registers and stacks */

struct baking {
	struct ada_view *view;
	struct ada_output *output;
	struct ada_error *error;
	char from[24], to[24], window[24]; /* ns from the session's start; "": no window */
	uint32_t columns;		   /* of the picture */
	bool cut;			   /* registers and stacks that the file has no room for */
};

/* --- answers -------------------------------------------------------------------------------------------------------------- */

/* An answer as it is; the caller frees it. */
static int answer_make(struct baking *baking, int (*answer)(struct ada_question *), const char *const *arguments, char **text,
		       size_t *length)
{
	struct ada_question question = { .view = baking->view, .arguments = arguments, .output = malloc(sizeof *question.output) };
	int fd = memfd_create("ada-answer", MFD_CLOEXEC), status = -ENOMEM;

	*text = NULL;
	if (question.output && fd >= 0) {
		ada_output_open(question.output, fd);
		status = answer(&question);
		if (!status && !ada_output_flush(question.output))
			status = ada_error_system(&question.error, question.output->error, "can't answer");
	}
	if (!status && lseek(fd, 0, SEEK_SET))
		status = -errno;
	if (!status)
		status = ada_file_read_fd(fd, text, length);
	if (status)
		*baking->error = question.error;
	free(question.output);
	if (fd >= 0)
		close(fd);
	return status;
}

/* Names are strangers': no '<' of theirs may end the script that the answers are in. It stands in JSON's strings alone. */
static void put_escaped(struct ada_output *output, const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		if (text[i] == '<')
			ada_output_string(output, "\\u003c");
		else
			ada_output_bytes(output, &text[i], 1);
	}
}

static int bake(struct baking *baking, const char *name, int (*answer)(struct ada_question *), const char *const *arguments)
{
	size_t length;
	char *text;
	int status = answer_make(baking, answer, arguments, &text, &length);

	if (!status) {
		ada_output_format(baking->output, ",\n\"%s\": ", name);
		put_escaped(baking->output, text, length);
	}
	free(text);
	return status;
}

/* The widest picture that isn't too long. */
static int bake_picture(struct baking *baking, const char *threads)
{
	uint32_t columns = ADA_VIEW_COLUMNS;
	char text[16];
	const char *arguments[] = { "threads", threads, "from", baking->from, "to", baking->to, "columns", text, "depths", DEPTHS, NULL };
	size_t length = SIZE_MAX;
	char *picture = NULL;
	int status = 0;

	for (; !status && length > PICTURE_BYTES && columns >= COLUMNS_LEAST; columns /= 2) {
		free(picture);
		snprintf(text, sizeof text, "%u", columns);
		status = answer_make(baking, ada_view_timeline, arguments, &picture, &length);
	}
	baking->columns = (uint32_t)strtoul(text, NULL, 10);
	if (!status) {
		ada_output_format(baking->output, ",\n\"columns\": %u,\n\"timeline\": ", baking->columns);
		put_escaped(baking->output, picture, length);
	}
	free(picture);
	return status;
}

/* Of the range, or the window. */
static int bake_command(struct baking *baking, const char *run)
{
	const char *arguments[] = { "run", run, "from", baking->from, "to", baking->to, NULL, NULL, NULL };

	/* A window says which process, too. */
	if (*baking->window && strcmp(run, "waits")) {
		arguments[2] = "window";
		arguments[3] = baking->window;
		arguments[4] = NULL;
	}
	return bake(baking, run, ada_view_command, arguments);
}

/* Of an answer with an object a line: calls that have detail, as long as `left` bytes last. Of nothing else is detail shown. */
static bool put_details(struct ada_output *output, const char *text, size_t length, size_t *left)
{
	static const char call[] = "\"kind\": \"call\"", detail[] = "\"detail\": {";
	bool first = true;

	for (const char *end, *line = text; line < text + length; line = end + 1) {
		size_t bytes;

		end = memchr(line, '\n', (size_t)(text + length - line)) ?: text + length;
		bytes = (size_t)(end - line);
		if (!memmem(line, bytes, call, sizeof call - 1) || !memmem(line, bytes, detail, sizeof detail - 1))
			continue;
		if (bytes > *left)
			return false;
		*left -= bytes;
		ada_output_string(output, first ? "" : ",\n");
		put_escaped(output, line, bytes);
		first = false;
	}
	return true;
}

/* Registers and stacks of windows that lie in the range. */
static int bake_details(struct baking *baking)
{
	const struct ada_session *session = baking->view->session;
	uint64_t from_ns = ada_view_absolute(baking->view, strtoull(baking->from, NULL, 10));
	uint64_t to_ns = ada_view_absolute(baking->view, strtoull(baking->to, NULL, 10));
	size_t left = DETAILS_BYTES;
	bool fits = true, first = true;
	int status = 0;

	ada_output_string(baking->output, ",\n\"details\": [");
	for (size_t i = 0; i < session->windows.count && fits && !status; i++) {
		char number[24];
		const char *arguments[] = { "run", "details", "window", number, NULL };
		size_t length;
		char *text;

		snprintf(number, sizeof number, "%zu", i);
		if (session->windows.items[i].start_ns >= to_ns || session->windows.items[i].end_ns < from_ns ||
		    (*baking->window && strcmp(baking->window, number)))
			continue;
		status = answer_make(baking, ada_view_command, arguments, &text, &length);
		if (!status) {
			ada_output_string(baking->output, first ? "\n[" : ",\n[");
			fits = put_details(baking->output, text, length, &left);
			ada_output_string(baking->output, "]");
			first = false;
		}
		free(text);
	}
	ada_output_string(baking->output, "]");
	baking->cut = !fits;
	return status;
}

/* Numbers of threads with commas between; the caller frees them. */
static char *thread_list(const struct ada_view *view, const struct ada_selection *selection)
{
	char *text = malloc(selection->threads.count * 21 + 1), *at = text;

	if (!text)
		return NULL;
	*at = 0;
	for (size_t i = 0; i < selection->threads.count; i++)
		if (selection->threads.items[i]->events)
			at += sprintf(at, "%s%zu", at == text ? "" : ",",
				      (size_t)(selection->threads.items[i] - view->session->threads.items));
	return text;
}

static int bake_all(struct baking *baking, const struct ada_selection *selection)
{
	static const char *const commands[] = { "report", "graph", "narrate", "waits", "causes" };
	const char *none[] = { NULL };
	char *threads = thread_list(baking->view, selection);
	int status = threads ? 0 : -ENOMEM;

	ada_output_format(baking->output, "{\"from\": %s, \"to\": %s, \"threads\": [%s]", baking->from, baking->to, threads ?: "");
	if (!status)
		status = bake(baking, "session", ada_view_facts, none);
	if (!status)
		status = bake_picture(baking, threads);
	for (size_t i = 0; i < sizeof commands / sizeof *commands && !status; i++)
		status = bake_command(baking, commands[i]);
	if (!status)
		status = bake_details(baking);
	ada_output_string(baking->output, "}\n");
	free(threads);
	return status;
}

/* --- the file ------------------------------------------------------------------------------------------------------------- */

static const struct ada_page_file *page_file(const char *name)
{
	for (size_t i = 0; i < ada_page_file_count; i++)
		if (!strcmp(ada_page_files[i].name, name))
			return &ada_page_files[i];
	return NULL;
}

static void put_base64(struct ada_output *output, const char *bytes, size_t length)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < length; i += 3) {
		uint32_t three = (uint32_t)(unsigned char)bytes[i] << 16;
		char four[4];

		three |= i + 1 < length ? (uint32_t)(unsigned char)bytes[i + 1] << 8 : 0;
		three |= i + 2 < length ? (unsigned char)bytes[i + 2] : 0;
		for (int j = 0; j < 4; j++)
			four[j] = digits[three >> (18 - 6 * j) & 63];
		if (i + 2 >= length)
			four[3] = '=';
		if (i + 1 >= length)
			four[2] = '=';
		ada_output_bytes(output, four, 4);
	}
}

/* "./NAME.js" in a module means nothing where that is a data: address; "ada/NAME.js" is in the map. */
static int put_module(struct ada_output *output, const struct ada_page_file *file)
{
	char *text = malloc(file->length * 2 + 1);
	size_t length = 0;

	if (!text)
		return -ENOMEM;
	for (size_t i = 0; i < file->length; i++) {
		if (i + 3 <= file->length && !memcmp(file->bytes + i, "\"./", 3)) {
			memcpy(text + length, "\"ada/", 5);
			length += 5;
			i += 2;
		} else {
			text[length++] = (char)file->bytes[i];
		}
	}
	ada_output_format(output, "\"ada/%s\": \"data:text/javascript;base64,", file->name);
	put_base64(output, text, length);
	ada_output_string(output, "\"");
	free(text);
	return 0;
}

static int put_scripts(struct baking *baking, const struct ada_selection *selection)
{
	struct ada_output *output = baking->output;
	int status = 0;

	ada_output_string(output, "<script type=\"importmap\">{\"imports\": {");
	for (size_t i = 0, put = 0; i < ada_page_file_count && !status; i++) {
		const char *end = strrchr(ada_page_files[i].name, '.');

		if (!end || strcmp(end, ".js") || !strcmp(ada_page_files[i].name, "uplot.js"))
			continue;
		ada_output_string(output, put++ ? ",\n" : "\n");
		status = put_module(output, &ada_page_files[i]);
	}
	ada_output_string(output, "}}</script>\n<script type=\"application/json\" id=\"baked\">");
	if (!status)
		status = bake_all(baking, selection);
	ada_output_string(output, "</script>\n<script type=\"module\">import \"ada/main.js\";</script>");
	return status;
}

static void put_file(struct ada_output *output, const char *before, const char *name, const char *behind)
{
	const struct ada_page_file *file = page_file(name);

	ada_output_string(output, before);
	ada_output_bytes(output, (const char *)file->bytes, file->length);
	ada_output_string(output, behind);
}

/* index.html, with the files that it names in their places. */
static int put_page(struct baking *baking, const struct ada_selection *selection)
{
	static const char
		policy[] = "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'unsafe-inline' "
			   "data:; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'\">\n";
	static const char links[] = "<link rel=\"stylesheet\" href=\"uplot.css\">",
			  scripts[] = "<script type=\"module\" src=\"main.js\"></script>";
	const struct ada_page_file *page = page_file("index.html");
	const char *text = (const char *)page->bytes, *first = memmem(text, page->length, links, sizeof links - 1);
	const char *last = memmem(text, page->length, scripts, sizeof scripts - 1);
	struct ada_output *output = baking->output;
	int status;

	ada_output_bytes(output, text, (size_t)(first - text));
	ada_output_string(output, policy);
	put_file(output, "<style>\n", "uplot.css", "</style>\n");
	put_file(output, "<style>\n", "style.css", "</style>\n");
	put_file(output, "<script>\n", "uplot.js", "</script>\n");
	status = put_scripts(baking, selection);
	last += sizeof scripts - 1;
	ada_output_bytes(output, last, page->length - (size_t)(last - text));
	return status;
}

/* What the file has coarser than the session, and what to ask for instead. */
static void tell_coarse(const struct baking *baking, const char *path)
{
	static const char advice[] = "a shorter --from and --to has them";
	char least[ADA_UNITS_TEXT];
	uint64_t span_ns = strtoull(baking->to, NULL, 10) - strtoull(baking->from, NULL, 10);

	if (baking->columns < ADA_VIEW_COLUMNS)
		fprintf(stderr, "%s: %s draws calls shorter than %s together, the longest of each moment for all; %s each\n",
			baking->view->command, path, ada_format_duration(span_ns / baking->columns, least), advice);
	if (baking->cut)
		fprintf(stderr, "%s: %s lacks registers and stacks of its later calls, of which there are more than %u MB; %s\n",
			baking->view->command, path, DETAILS_BYTES >> 20, advice);
}

int ada_view_export(struct ada_view *view, const struct ada_selection *selection, uint64_t window, const char *path,
		    struct ada_error *error)
{
	struct baking baking = { .view = view, .error = error, .output = malloc(sizeof *baking.output) };
	int fd = memfd_create("ada-page", MFD_CLOEXEC), status = baking.output && fd >= 0 ? 0 : -ENOMEM;
	uint64_t end_ns = ada_session_end_ns(view->session);
	size_t length;
	char *bytes = NULL;

	if (selection->to_ns <= end_ns)
		end_ns = selection->to_ns;
	snprintf(baking.from, sizeof baking.from, "%" PRIu64, ada_view_relative(view, selection->from_ns));
	snprintf(baking.to, sizeof baking.to, "%" PRIu64, ada_view_relative(view, end_ns) + 1);
	if (window != UINT64_MAX)
		snprintf(baking.window, sizeof baking.window, "%" PRIu64, window);
	if (!status) {
		ada_output_open(baking.output, fd);
		status = put_page(&baking, selection);
		if (!status && !ada_output_flush(baking.output))
			status = ada_error_system(error, baking.output->error, "can't write the page");
	}
	if (!status && !lseek(fd, 0, SEEK_SET))
		status = ada_file_read_fd(fd, &bytes, &length) ?: ada_file_replace(path, bytes, length, error);
	if (status && !*error->text)
		ada_error_system(error, -status, "can't write %s", path);
	if (!status)
		tell_coarse(&baking, path);
	free(bytes);
	free(baking.output);
	if (fd >= 0)
		close(fd);
	return status;
}
