/* ada view: opens the session, serves the page, and ends in order at Ctrl-C. */
#include "cli/view/view.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/interrupt.h"
#include "cli/ground/answer.h"
#include "cli/view/commands.h"

extern char **environ;

static const struct ada_usage usage = {
	"[SESSION]",
	"Shows a session in a browser: the timeline of all threads, windows, marks, flame graph, report and narrative."
	"\vServes one page on 127.0.0.1 to whoever knows its address, which ada prints; Ctrl-C ends it. Nothing comes from the network.",
};

/* Where a desktop is: its browser, which is not waited for. */
static void browser_open(const char *url)
{
	const char *words[] = { "xdg-open", url, NULL };
	posix_spawn_file_actions_t actions;
	pid_t pid;

	if (!getenv("DISPLAY") && !getenv("WAYLAND_DISPLAY"))
		return;
	if (posix_spawn_file_actions_init(&actions))
		return;
	posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawnp(&pid, words[0], &actions, NULL, (char **)words, environ);
	posix_spawn_file_actions_destroy(&actions);
}

/* Until a signal comes. */
static void wait_for_signal(void)
{
	sigset_t signals, before;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &signals, &before);
	while (!ada_interrupted())
		sigsuspend(&before);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* What --from, --to and --window name, as a file. */
static int export_page(struct ada_view *view, const struct ada_options *options)
{
	struct ada_selection selection = {};
	struct ada_error error = {};
	int status = ada_answer_select(&selection, view->session, options, &error);

	if (!status)
		status = ada_view_read_once(view);
	if (status && *view->error.text)
		error = view->error;
	if (!status)
		status = ada_view_export(view, &selection, options->window, options->output, &error);
	ada_selection_close(&selection);
	return status ? ada_answer_fail(view->command, &error) : 0;
}

static int serve(struct ada_view *view, const struct ada_options *options)
{
	struct ada_error error = {};
	char url[ADA_VIEW_URL];
	struct ada_view_server *server;
	sigset_t signals, before;
	pthread_t reader;

	/* Signals are the main thread's: no other takes them. */
	sigfillset(&signals);
	sigdelset(&signals, SIGSEGV);
	sigdelset(&signals, SIGBUS);
	pthread_sigmask(SIG_SETMASK, &signals, &before);
	server = ada_view_serve(view, (uint16_t)options->port, url, &error);
	if (server && pthread_create(&reader, NULL, ada_view_read, view)) {
		ada_error_set(&error, EAGAIN, "can't start a thread");
		ada_view_server_stop(server);
		server = NULL;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!server)
		return ada_answer_fail(view->command, &error);
	printf("%s\n", url);
	fflush(stdout);
	fprintf(stderr, "%s: open this address in a browser on this machine; Ctrl-C ends it\n", view->command);
	if (!options->no_browser)
		browser_open(url);
	wait_for_signal();
	ada_view_server_stop(server);
	pthread_join(reader, NULL);
	return 0;
}

int ada_cmd_view(int argc, char **argv)
{
	struct ada_view view = { .command = argv[0], .lock = PTHREAD_MUTEX_INITIALIZER };
	struct ada_options options = { .window = UINT64_MAX };
	int status;

	ada_options_take(&options, &usage, argc, argv);
	if (!options.output && (options.from || options.to || options.window != UINT64_MAX))
		ada_options_fail(argv[0], "--from, --to and --window say what --export=FILE writes; the page that is served has all");
	status = ada_answer_open(argv[0], &options, &view.session);
	if (status)
		return status;
	view.start_ns = view.session->start_ns;
	view.session_path = strdup(view.session->path);
	ada_interrupt_catch();
	signal(SIGPIPE, SIG_IGN);
	if (!view.session_path || ada_zoom_open(&view.zoom, view.session)) {
		ada_error_set(&view.error, ENOMEM, "out of memory");
		status = ada_answer_fail(argv[0], &view.error);
	} else {
		status = options.output ? export_page(&view, &options) : serve(&view, &options);
		ada_stats_free(&view.stats);
	}
	ada_zoom_close(&view.zoom);
	ada_session_close(view.counted_session);
	ada_session_close(view.session);
	free((char *)view.session_path);
	return status;
}
