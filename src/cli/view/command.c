/* Answers that are a command's: this same program, run on the session. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/interrupt.h"
#include "cli/view/view.h"

#define WORDS_MAX 16
#define ANSWER_BYTES (256u << 20) /* at most */
#define CPU_SECONDS 600u
#define LOOK_MS 200
#define WAITS_MAX "400" /* of an answer, the longest */
#define DETAILS_MAX "40000"

struct command_line {
	char texts[WORDS_MAX][128];
	char path[4096]; /* of the session, or of one process */
	char statement[1024];
	char *words[WORDS_MAX + 1];
	size_t count;
};

static void line_add(struct command_line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void line_add(struct command_line *line, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line->texts[line->count], sizeof line->texts[0], format, arguments);
	va_end(arguments);
	line->words[line->count] = line->texts[line->count];
	line->count++;
}

/* The range, or the window, that a report is of. */
static int line_add_range(struct command_line *line, struct ada_question *question)
{
	uint64_t from, to, window;
	int status = ada_question_number(question, "from", UINT64_MAX, &from) ?: ada_question_number(question, "to", UINT64_MAX, &to);

	if (!status)
		status = ada_question_number(question, "window", UINT64_MAX, &window);
	if (status)
		return status;
	if (window != UINT64_MAX)
		line_add(line, "--window=%" PRIu64, window);
	if (from != UINT64_MAX)
		line_add(line, "--from=%" PRIu64, ada_view_absolute(question->view, from));
	if (to != UINT64_MAX)
		line_add(line, "--to=%" PRIu64, ada_view_absolute(question->view, to));
	return 0;
}

/* The event that dump and causes are of; *pid gets its process's directory. */
static int line_event(struct ada_question *question, const struct ada_thread **thread, uint64_t *position)
{
	const struct ada_zoom_thread *zoomed;
	int status = ada_question_thread(question, &zoomed);

	if (!status)
		status = ada_question_number(question, "seq", 0, position);
	if (!status)
		*thread = zoomed->thread;
	return status;
}

/* The longest waits of a range, of how many, and where in the timeline the events lie that ended them. */
static int line_waits(struct command_line *line, struct ada_question *question)
{
	uint64_t from, to, start_ns = question->view->start_ns;
	int status = ada_question_number(question, "from", 0, &from) ?: ada_question_number(question, "to", UINT64_MAX, &to);

	snprintf(line->statement, sizeof line->statement,
		 "SELECT w.process, w.thread, w.index_seq AS seq, w.start_ns - %" PRIu64 " AS start, w.end_ns - %" PRIu64
		 " AS stop, w.kind, "
		 "w.function, w.object, b.depth, w.ended_by_thread, w.ended_by_index_seq AS ended_by_seq, e.timestamp_ns - %" PRIu64
		 " AS ended_at, e.depth AS ended_depth, e.function AS ended_function, w.waits "
		 "FROM (SELECT *, process, function, COUNT(*) OVER () AS waits FROM waits WHERE start_ns < %" PRIu64
		 " AND end_ns > %" PRIu64 " ORDER BY end_ns - start_ns DESC LIMIT " WAITS_MAX ") w "
		 "JOIN events b ON b.process = w.process AND b.thread = w.thread AND b.index_seq = w.index_seq "
		 "LEFT JOIN events e ON e.process = w.process AND e.thread = w.ended_by_thread AND e.index_seq = w.ended_by_index_seq",
		 start_ns, start_ns, start_ns, ada_view_absolute(question->view, to) & INT64_MAX,
		 ada_view_absolute(question->view, from) & INT64_MAX);
	return status;
}

static int line_compose(struct command_line *line, struct ada_question *question)
{
	const char *run = ada_question_text(question, "run");
	const struct ada_thread *thread = NULL;
	uint64_t position;
	int status;

	line_add(line, "ada");
	if (run && (!strcmp(run, "report") || !strcmp(run, "graph") || !strcmp(run, "narrate"))) {
		line_add(line, "%s", run);
		line_add(line, "--format=json");
		if (!strcmp(run, "graph")) {
			/* What a picture can show; a file has less room. */
			line_add(line, question->connection ? "--min=0.05" : "--min=0.2");
			line_add(line, "--clip");
		}
		status = line_add_range(line, question);
	} else if (run && !strcmp(run, "detail")) {
		status = line_event(question, &thread, &position);
		if (!status) {
			line_add(line, "dump");
			line_add(line, "--format=json");
			line_add(line, "--detail");
			line_add(line, "--source");
			line_add(line, "--thread=%u", thread->number);
			line_add(line, "--seq=%" PRIu64 "-%" PRIu64, position, position);
		}
	} else if (run && !strcmp(run, "cause")) {
		status = line_event(question, &thread, &position);
		if (!status) {
			line_add(line, "query");
			line_add(line, "--format=json");
			line_add(line, "--timeout=20s");
		}
	} else if (run && !strcmp(run, "details")) {
		line_add(line, "dump");
		line_add(line, "--format=json");
		line_add(line, "--detail");
		line_add(line, "--source");
		line_add(line, "--limit=" DETAILS_MAX);
		status = line_add_range(line, question);
	} else if (run && (!strcmp(run, "waits") || !strcmp(run, "causes"))) {
		line_add(line, "query");
		line_add(line, "--format=json");
		line_add(line, "--timeout=60s");
		status = line_waits(line, question);
		if (!strcmp(run, "causes"))
			snprintf(line->statement, sizeof line->statement,
				 "SELECT c.*, m.process FROM causes c LEFT JOIN windows m ON m.window = c.window");
	} else {
		status = ada_error_set(&question->error, EINVAL, "run: report, graph, narrate, detail, details, cause, causes or waits");
	}
	if (status)
		return status;
	snprintf(line->path, sizeof line->path, "%s", thread ? thread->process->path : question->view->session->path);
	line->words[line->count++] = line->path;
	if (run && !strcmp(run, "cause"))
		line_add(line, "SELECT * FROM causes(%u, %" PRIu64 ")", thread->number, position);
	if (*line->statement)
		line->words[line->count++] = line->statement;
	line->words[line->count] = NULL;
	return 0;
}

static _Noreturn void become_child(const struct command_line *line, pid_t parent, int output, int errors)
{
	sigset_t none;
	int input = open("/dev/null", O_RDONLY);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setpgid(0, 0); /* Ctrl-C is ours; a command that is left dies with us */
	if (getppid() != parent || dup2(input, STDIN_FILENO) < 0 || dup2(output, STDOUT_FILENO) < 0 || dup2(errors, STDERR_FILENO) < 0)
		_exit(ADA_EXIT_FAILED);
	setrlimit(RLIMIT_CORE, &(const struct rlimit){});
	setrlimit(RLIMIT_CPU, &(const struct rlimit){ CPU_SECONDS, CPU_SECONDS });
	setrlimit(RLIMIT_FSIZE, &(const struct rlimit){ ANSWER_BYTES, ANSWER_BYTES });
	signal(SIGPIPE, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execv("/proc/self/exe", line->words);
	_exit(ADA_EXIT_NOT_EXECUTABLE);
}

/* What it complained of, in one line. */
static int tell_complaint(struct ada_question *question, int errors, int ended)
{
	char text[sizeof question->error.text];
	ssize_t length = pread(errors, text, sizeof text - 1, 0);

	text[length > 0 ? length : 0] = 0;
	text[strcspn(text, "\n")] = 0;
	if (*text)
		return ada_error_set(&question->error, EIO, "%s", text);
	return ada_error_set(&question->error, EIO, "the command ended with status %d", ended);
}

/* The end of ada view is the command's, too. */
static int wait_for_end(struct ada_question *question, pid_t child, int *ended)
{
	struct pollfd end = { .fd = pidfd_open(child, 0), .events = POLLIN };

	while (end.fd >= 0 && poll(&end, 1, LOOK_MS) <= 0 && !ada_interrupted())
		;
	if (ada_interrupted())
		kill(child, SIGKILL);
	if (end.fd >= 0)
		close(end.fd);
	while (waitpid(child, ended, 0) < 0)
		if (errno != EINTR)
			return ada_error_system(&question->error, errno, "can't run a command");
	return 0;
}

/* The thread that asked waits: PR_SET_PDEATHSIG speaks of that thread, which lives as long as the server. */
static int run_line(struct ada_question *question, const struct command_line *line)
{
	int errors = memfd_create("ada-complaint", MFD_CLOEXEC), ended = 0, status = 0;
	pid_t parent = getpid(), child = errors < 0 ? -1 : fork();

	if (!child)
		become_child(line, parent, question->output->fd, errors);
	if (child < 0)
		status = ada_error_system(&question->error, errno, "can't run a command");
	if (!status)
		status = wait_for_end(question, child, &ended);
	/* An answer of which something couldn't be read is an answer: the status says 125, and the JSON is whole. */
	if (!status && (ended && lseek(question->output->fd, 0, SEEK_END) <= 0))
		status = tell_complaint(question, errors, ended);
	if (errors >= 0)
		close(errors);
	return status;
}

int ada_view_command(struct ada_question *question)
{
	struct command_line *line = calloc(1, sizeof *line);
	int status = line ? 0 : ada_error_set(&question->error, ENOMEM, "out of memory");

	if (line) {
		pthread_mutex_lock(&question->view->lock);
		status = line_compose(line, question);
		pthread_mutex_unlock(&question->view->lock);
	}
	if (!status)
		status = run_line(question, line);
	free(line);
	return status;
}
