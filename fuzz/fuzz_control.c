/* The control socket's lines: whatever clients write, in whatever pieces, each that has written a line gets one line back, a JSON
 * object that says whether it went well, and none of them keeps its place when its time is up.
 *
 * An input is a list of pieces: a byte says which client and what happens (more of the line, its end, the client goes, a turn of
 * the main thread), another the length. control.c is included: its thread is what the fuzzer itself does. */
#include "recorder/control/control.c"
#include <assert.h>
#include "memory.h"
#include "recorder/detail/detail.h"
#include "recorder/policy/policy.h"
#include "recorder_world.h"

#define CLIENTS 3
#define VERSIONS_MAX 100

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static int sockets[CLIENTS]; /* their ends; -1: not there */

static void come(struct ada_control *control, int i)
{
	int pair[2];

	fuzz_socket_pair(SOCK_STREAM, pair);
	assert(may(pair[0]) && make_room(control));
	control->clients[control->count++] = (struct client){ .fd = pair[0], .deadline_ns = ada_clock_boottime_ns() + READ_NS };
	sockets[i] = pair[1];
}

/* One round of the control thread, of the main thread, and of the control thread again. */
static void turn(struct ada_control *control)
{
	for (int i = 0; i < 3; i++) {
		struct pollfd polls[CLIENTS_MAX];
		size_t count = control->count;

		if (i == 1) {
			ada_control_turn(control, ada_clock_boottime_ns());
			continue;
		}
		for (size_t k = 0; k < count; k++) {
			enum client_state state = state_of(control, k);

			polls[k] = (struct pollfd){ .fd = control->clients[k].fd,
						    .events = state == READING ? POLLIN :
							      state == WRITING ? POLLOUT :
										 0 };
		}
		poll(polls, count, 0);
		attend_all(control, polls, count);
	}
}

/* What came back is nothing yet, or one line. */
static void take_answer(int i)
{
	static char text[1 << 20];
	ssize_t got = recv(sockets[i], text, sizeof text - 1, 0);
	json_object *answer, *ok;

	if (got <= 0)
		return;
	text[got] = 0;
	assert(text[got - 1] == '\n' && strchr(text, '\n') == text + got - 1 && strlen(text) == (size_t)got);
	answer = json_tokener_parse(text);
	assert(json_object_object_get_ex(answer, "ok", &ok) && json_object_is_type(ok, json_type_boolean));
	assert(json_object_get_boolean(ok) || json_object_object_get_ex(answer, "error", NULL));
	json_object_put(answer);
}

static void leave(int i)
{
	take_answer(i);
	close(sockets[i]);
	sockets[i] = -1;
}

static void run(struct ada_control *control, struct fuzz_input *input)
{
	while (input->at < input->end) {
		uint8_t what = fuzz_byte(input);
		int i = what % CLIENTS;
		size_t length = what & 4 ? fuzz_byte(input) : SIZE_MAX, left = (size_t)(input->end - input->at);
		const void *line = left ? memchr(input->at, '\n', left) : NULL;

		if (line)
			left = (size_t)((const uint8_t *)line + 1 - input->at);
		length = length < left ? length : left;
		if (sockets[i] < 0)
			come(control, i);
		if (length) {
			ssize_t sent = send(sockets[i], input->at, length, MSG_NOSIGNAL);

			(void)sent; /* the other end may have been closed by now */
		}
		input->at += length;
		if (what & 8)
			shutdown(sockets[i], SHUT_WR);
		if (!(what & 16))
			turn(control);
		take_answer(i);
		if (what & 32)
			leave(i);
	}
}

/* One recorder serves many executions, for to make it anew takes longer than they do; but it never forgets a rule. */
static struct ada_recorder *recorder_of_now(void)
{
	static struct ada_recorder *recorder;
	static unsigned int executions;

	if (executions++ % 1024 && ada_policy_version(recorder->policy) < VERSIONS_MAX)
		return recorder;
	if (recorder)
		fuzz_recorder_end();
	recorder = fuzz_recorder_begin(NULL);
	fuzz_provider(recorder);
	return recorder;
}

/* Each input finds the rules that it would find alone. */
static void remove_rules(struct ada_recorder *recorder)
{
	struct ada_rule_info rules[ADA_RULES_MAX];
	size_t count = ada_policy_rules(recorder->policy, rules, ADA_RULES_MAX);
	struct ada_error error = { "" };
	uint32_t id;

	for (size_t i = 0; i < count; i++)
		if (rules[i].id > 1)
			assert(!ada_policy_remove(recorder->policy, rules[i].id, &error));
	assert(!ada_policy_add(recorder->policy, "manual", &id, &error));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct fuzz_input input = { bytes, bytes + length };
	struct ada_recorder *recorder = recorder_of_now();
	struct ada_control control = { .recorder = recorder, .socket = -1, .wake = recorder->wake };
	uint32_t version = ada_policy_version(recorder->policy);

	pthread_mutex_init(&control.lock, NULL);
	for (int i = 0; i < CLIENTS; i++)
		sockets[i] = -1;
	run(&control, &input);
	turn(&control);
	for (int i = 0; i < CLIENTS; i++)
		if (sockets[i] >= 0)
			leave(i);
	turn(&control);
	for (size_t i = control.count; i-- > 0;)
		drop(&control, i);
	pthread_mutex_destroy(&control.lock);
	if (ada_policy_version(recorder->policy) != version)
		remove_rules(recorder);
	return 0;
}
