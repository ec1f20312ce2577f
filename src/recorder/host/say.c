#include "recorder/host/say.h"
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/array.h"

#define BYTES_MAX (4u << 20) /* that nobody has taken */

/* One for the process, as stderr is. */
static struct {
	pthread_mutex_t lock; /* nothing under it waits */
	pthread_cond_t news;
	pthread_t thread;
	bool running, quit, writing;
	ADA_ARRAY(char) text;
	size_t dropped; /* how often there was no room */
} say = { .lock = PTHREAD_MUTEX_INITIALIZER, .news = PTHREAD_COND_INITIALIZER };

/* A failure to write concerns nobody: stderr may be closed. */
static void line_put(const char *text, size_t bytes)
{
	struct pollfd room = { .fd = STDERR_FILENO, .events = POLLOUT };

	while (bytes) {
		ssize_t done = write(STDERR_FILENO, text, bytes);

		if (done < 0 && errno == EAGAIN && poll(&room, 1, -1) == 1 && !(room.revents & (POLLERR | POLLNVAL)))
			continue;
		if (done < 0 && errno != EINTR)
			return;
		text += done > 0 ? done : 0;
		bytes -= done > 0 ? (size_t)done : 0;
	}
}

static void *say_run(void *argument)
{
	pthread_mutex_lock(&say.lock);
	while (!say.quit || say.text.count) {
		char *text;
		size_t bytes, dropped;

		if (!say.text.count) {
			pthread_cond_wait(&say.news, &say.lock);
			continue;
		}
		text = say.text.items;
		bytes = say.text.count;
		dropped = say.dropped;
		say.text.items = NULL;
		say.text.count = say.text.capacity = say.dropped = 0;
		say.writing = true;
		pthread_mutex_unlock(&say.lock);
		line_put(text, bytes);
		free(text);
		if (dropped) {
			char told[80];

			line_put(told, (size_t)snprintf(told, sizeof told, "ada: and %zu more lines, while nobody took these\n", dropped));
		}
		pthread_mutex_lock(&say.lock);
		say.writing = false;
	}
	pthread_mutex_unlock(&say.lock);
	return argument;
}

void ada_say_open(void)
{
	say.quit = false;
	say.running = !pthread_create(&say.thread, NULL, say_run, NULL);
}

void ada_say(const char *format, ...)
{
	va_list arguments, again;

	va_start(arguments, format);
	va_copy(again, arguments);
	pthread_mutex_lock(&say.lock);
	if (!say.running) {
		pthread_mutex_unlock(&say.lock);
		vfprintf(stderr, format, arguments);
	} else {
		int bytes = vsnprintf(NULL, 0, format, arguments);

		if (bytes < 0 || say.text.count + (size_t)bytes >= BYTES_MAX || ada_array_reserve(&say.text, (size_t)bytes + 1)) {
			say.dropped++;
		} else {
			vsnprintf(say.text.items + say.text.count, (size_t)bytes + 1, format, again);
			say.text.count += (size_t)bytes;
		}
		pthread_cond_signal(&say.news);
		pthread_mutex_unlock(&say.lock);
	}
	va_end(again);
	va_end(arguments);
}

bool ada_say_is_through(void)
{
	bool through;

	pthread_mutex_lock(&say.lock);
	through = !say.text.count && !say.writing;
	pthread_mutex_unlock(&say.lock);
	return through;
}

void ada_say_close(void)
{
	bool running;

	pthread_mutex_lock(&say.lock);
	running = say.running;
	say.quit = true;
	pthread_cond_signal(&say.news);
	pthread_mutex_unlock(&say.lock);
	if (!running)
		return;
	pthread_join(say.thread, NULL);
	pthread_mutex_lock(&say.lock);
	say.running = false;
	pthread_mutex_unlock(&say.lock);
	free(say.text.items);
	say.text.items = NULL;
	say.text.count = say.text.capacity = 0;
}
