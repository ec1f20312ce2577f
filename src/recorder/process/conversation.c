/* One conversation with an agent (order of messages: abi/wire.h; what HELLO brings about: greet.c). Whatever is not as it should be ends it:
 * the agent then disables itself, and the program goes on untraced. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>
#include "base/file.h"
#include "recorder/host/say.h"
#include "recorder/planning/symbols.h"
#include "recorder/policy/policy.h"
#include "recorder/process/choice.h"
#include "recorder/process/server.h"
#include "recorder/process/stock.h"
#include "recorder/process/talk.h"
#include "recorder/state/provider.h"

#define STRANGER_SECONDS 1
#define PEER_PIDFD 77 /* SO_PEERPIDFD, which Debian 12's headers don't have yet */

union message {
	struct ada_message head;
	struct ada_hello hello;
	struct ada_module_message module;
	struct ada_applied applied;
	struct ada_unload unload;
	struct ada_failed failed;
};

/* 0, or < 0: closed, silent for too long, or no message of ours. */
static int receive(int socket, union message *message)
{
	ssize_t got;
	static const uint8_t sizes[] = {
		[ADA_MESSAGE_HELLO] = sizeof(struct ada_hello),	    [ADA_MESSAGE_MODULE] = sizeof(struct ada_module_message),
		[ADA_MESSAGE_APPLIED] = sizeof(struct ada_applied), [ADA_MESSAGE_UNLOAD] = sizeof(struct ada_unload),
		[ADA_MESSAGE_DONE] = sizeof(struct ada_done),	    [ADA_MESSAGE_FAILED] = sizeof(struct ada_failed)
	};
	uint32_t type;

	memset(message, 0, sizeof *message);
	/* Where an agent closed before it had read all that we said, the kernel says so once (ECONNRESET), then gives what the agent
	 * sent. */
	while ((got = recv(socket, message, sizeof *message, MSG_TRUNC)) < 0 && (errno == EINTR || errno == ECONNRESET))
		;
	if (got < (ssize_t)sizeof message->head || message->head.bytes != (size_t)got)
		return -EPROTO;
	type = message->head.type;
	/* An agent of another version may say HELLO in another size; the version comes first in all of them. */
	if (type == ADA_MESSAGE_HELLO && got >= (ssize_t)offsetof(struct ada_hello, kind) &&
	    message->hello.wire_version != ADA_WIRE_VERSION)
		return 0;
	return type < sizeof sizes && sizes[type] == got ? 0 : -EPROTO;
}

static bool same_file(const struct ada_plan *plan, const struct ada_shm_module *module)
{
	const struct ada_plan_header *header = ada_plan_header(plan);

	return !module->build_id_bytes ||
	       (header->build_id_bytes == module->build_id_bytes && !memcmp(header->build_id, module->build_id, module->build_id_bytes));
}

static struct ada_module_state *module_state(struct ada_provider *provider, uint32_t id)
{
	while (provider->modules.count <= id)
		if (ada_array_push(&provider->modules, (struct ada_module_state){ 0 }))
			return NULL;
	return &provider->modules.items[id];
}

static void remember(struct ada_provider *provider, uint32_t id, const struct ada_module_state *state)
{
	struct ada_module_state *kept;

	pthread_mutex_lock(&provider->facts);
	kept = module_state(provider, id);
	if (kept)
		*kept = *state;
	pthread_mutex_unlock(&provider->facts);
	__atomic_store_n(&provider->changed, true, __ATOMIC_RELEASE);
}

/* Which plan the module gets, and why: traced, hooked where triggers name its functions or threads wait in them, or only its names. */
static const struct ada_plan *choose_plan(const struct ada_talk *talk, const struct ada_shm_module *module, const char *path, bool traced,
					  struct ada_module_state *state)
{
	const struct ada_error *refused;
	const struct ada_plan *plan;

	state->planned = ada_choice_plan(talk, path, traced, &state->named, &refused);
	plan = state->planned ? state->planned->plan : NULL;
	if (refused)
		ada_say("ada: what triggers name, and what threads wait in, can't be hooked: %s\n", refused->text);
	if (!plan && state->planned)
		state->problem = state->planned->error;
	else if (plan && !same_file(plan, module))
		ada_error_set(&state->problem, ESTALE, "%s is not the file that was loaded (build-ids differ): it was replaced", path);
	state->traced = plan && !*state->problem.text && traced;
	state->named &= !*state->problem.text;
	return *state->problem.text ? NULL : plan;
}

/* Adds to the hooks of a filter. */
static void filter_add(struct ada_module_state *state, uint8_t *filter, const uint8_t *hooks, uint32_t bytes)
{
	for (uint32_t i = 0; i < bytes; i++) {
		state->named_hooks += (uint32_t)__builtin_popcount(hooks[i] & ~filter[i]);
		filter[i] |= hooks[i];
	}
}

/* --functions and --exclude, what triggers name, and what threads wait in. NULL with *bytes 0: all. False: no memory, or too many to
 * say. */
static bool make_filter(const struct ada_talk *talk, struct ada_module_state *state, uint8_t **filter, uint32_t *bytes)
{
	const struct ada_planned *planned = state->planned;
	const struct ada_plan_header *header = ada_plan_header(planned->plan);
	uint32_t named_bytes;
	uint8_t *named, *made;
	uint64_t wanted;

	*filter = NULL;
	*bytes = 0;
	named = ada_policy_hooks(talk->recorder->policy, planned->plan, &named_bytes);
	if (state->traced && !planned->filter) {
		free(named);
		return true;
	}
	wanted = ((uint64_t)header->hook_count + header->import_count + 7) / 8;
	made = wanted <= ADA_FILTER_BYTES_MAX ? calloc(wanted + 1, 1) : NULL;
	if (made && state->traced)
		memcpy(made, planned->filter, wanted);
	if (made)
		filter_add(state, made, named, named ? named_bytes : 0);
	if (made && !state->traced && planned->objects && ada_choice_wants_objects(talk, planned))
		filter_add(state, made, planned->objects, (header->hook_count + 7) / 8);
	free(named);
	*filter = made;
	*bytes = (uint32_t)wanted;
	return made;
}

/* Says what the agent does with the module. False: only its names are used. */
static bool instruct(const struct ada_talk *talk, struct ada_module_state *state, struct ada_plan_reply *answer, uint8_t **filter)
{
	if (!state->traced && !state->named)
		return false;
	if (!make_filter(talk, state, filter, &answer->filter_bytes)) {
		ada_error_set(&state->problem, E2BIG, "has too many functions to filter them by name");
		state->traced = state->named = false;
		answer->filter_bytes = 0;
		return false;
	}
	if (state->traced)
		answer->flags = ADA_PLAN_REPLY_TRACE | (talk->recorder->options->libcalls ? ADA_PLAN_REPLY_IMPORTS : 0);
	else if (state->named_hooks)
		answer->flags = ADA_PLAN_REPLY_NAMED;
	answer->head.bytes += answer->filter_bytes;
	if (answer->flags)
		ada_policy_hooked(talk->recorder->policy, talk->provider, answer->module_id, state->planned->plan, *filter);
	return true;
}

static void note_late(struct ada_provider *provider, uint32_t id, const struct ada_planned *planned, const uint8_t *hooks)
{
	uint32_t count = ada_plan_header(planned->plan)->hook_count, named = 0;
	struct ada_module_state *state;

	pthread_mutex_lock(&provider->facts);
	state = module_state(provider, id);
	if (state) {
		for (uint32_t i = 0; i < count; i++)
			named += (hooks[i / 8] >> i % 8 & 1) &&
				 !(state->traced && planned->filter && (planned->filter[i / 8] >> i % 8 & 1));
		state->named = !state->traced;
		state->named_hooks = named;
		state->planned = planned;
	}
	pthread_mutex_unlock(&provider->facts);
	__atomic_store_n(&provider->changed, true, __ATOMIC_RELEASE);
}

/* Answers for a module that the agent knows: which of its hooks are missing (abi/wire.h, "Late patches"). */
static int answer_late(struct ada_talk *talk, const struct ada_module_message *message)
{
	struct ada_plan_reply answer = { .head = { ADA_MESSAGE_PLAN, sizeof answer }, .module_id = message->module_id };
	const struct ada_planned *planned = NULL;
	uint8_t *filter = NULL,
		*hooks = ada_policy_late_hooks(talk->recorder->policy, talk->provider, message->module_id, &planned, &answer.function_base);
	int status;

	if (hooks) {
		const struct ada_plan_header *header = ada_plan_header(planned->plan);
		uint64_t bytes = ((uint64_t)header->hook_count + header->import_count + 7) / 8;

		filter = bytes <= ADA_FILTER_BYTES_MAX ? calloc(bytes + 1, 1) : NULL;
		if (filter) {
			memcpy(filter, hooks, (header->hook_count + 7) / 8);
			answer.flags = ADA_PLAN_REPLY_NAMED;
			answer.plan_bytes = ada_plan_bytes(planned->plan);
			answer.filter_bytes = (uint32_t)bytes;
			answer.head.bytes += answer.filter_bytes;
			ada_policy_hooked(talk->recorder->policy, talk->provider, message->module_id, planned->plan, hooks);
			note_late(talk->provider, message->module_id, planned, hooks);
		}
	}
	status = ada_talk_reply(talk->socket, &answer, sizeof answer, filter, answer.filter_bytes,
				filter ? ada_plan_fd(planned->plan) : -1);
	free(filter);
	free(hooks);
	return status;
}

static int answer_module(struct ada_talk *talk, const struct ada_module_message *message)
{
	struct ada_plan_reply answer = { .head = { ADA_MESSAGE_PLAN, sizeof answer }, .module_id = message->module_id };
	struct ada_module_state state = { .known = true };
	struct ada_shm_module module = { 0 };
	struct ada_error error = { "" };
	char path[PATH_MAX];
	const struct ada_plan *plan = NULL;
	const char *names;
	size_t names_bytes = 0;
	uint8_t *filter = NULL;
	bool traced;
	int status;

	if (!ada_choice_module(talk, message->module_id, &module))
		return -EPROTO;
	if (message->flags & ADA_MODULE_LATE) {
		talk->late |= !(message->flags & ADA_MODULE_AGAIN);
		if (message->flags & ADA_MODULE_AGAIN)
			ada_policy_again(talk->recorder->policy, talk->provider, message->module_id);
		return answer_late(talk, message);
	}
	traced = ada_choice_traced(talk, &module, message->flags);
	if (message->flags & (ADA_MODULE_VDSO | ADA_MODULE_AGENT))
		;
	else if (ada_choice_path(talk, &module, path))
		ada_error_set(&state.problem, ENOENT, "its file can't be found");
	else
		plan = choose_plan(talk, &module, path, traced, &state);
	if (plan) {
		answer.plan_bytes = ada_plan_bytes(plan);
		answer.function_base = ada_policy_module(talk->recorder->policy, talk->provider, message->module_id, path, plan);
		instruct(talk, &state, &answer, &filter);
	}
	status = ada_talk_reply(talk->socket, &answer, sizeof answer, filter, answer.filter_bytes, plan ? ada_plan_fd(plan) : -1);
	free(filter);
	/* While the agent applies the plan. */
	names = plan ? ada_plans_names(talk->recorder->plans, state.planned, &names_bytes) : NULL;
	if (!ada_path(path, "%s/modules/%u.tsv", talk->provider->directory, message->module_id))
		state.symbols = !ada_symbols_write(path, names, names_bytes, module.path, module.build_id, module.build_id_bytes,
						   module.base, &state.symbols_checksum, &error);
	remember(talk->provider, message->module_id, &state);
	return status;
}

/* Another user's process may talk if it knows the secret: then it is one of ours that has changed its user. */
static bool may_talk(const struct ada_recorder *recorder, const struct ucred *peer, const struct ada_hello *hello)
{
	unsigned char wrong = 0;

	if (peer->uid == geteuid() || !peer->uid)
		return true;
	for (size_t i = 0; i < sizeof hello->secret; i++)
		wrong |= hello->secret[i] ^ recorder->secret[i];
	return recorder->has_secret && !wrong && hello->wire_version == ADA_WIRE_VERSION;
}

/* A stranger has little time to say who it is. */
static void limit_wait(int socket, int seconds)
{
	struct timeval timeout = { .tv_sec = seconds };

	setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
}

/* Conversations of a start begin with their provider. */
static void note_begin(struct ada_provider *provider)
{
	__atomic_fetch_add(&provider->conversations, 1, __ATOMIC_RELEASE);
}

static void note_end(struct ada_provider *provider)
{
	__atomic_store_n(&provider->starting, false, __ATOMIC_RELEASE);
	__atomic_store_n(&provider->changed, true, __ATOMIC_RELEASE);
	__atomic_fetch_sub(&provider->conversations, 1, __ATOMIC_RELEASE);
}

/* An image of which nothing is recorded: what its agent said, or that it said nothing before it ended. */
static void note_failed(const struct ada_talk *talk, enum ada_disable reason)
{
	uint32_t none = ADA_DISABLE_NONE;

	pthread_mutex_lock(&talk->provider->lock);
	if (talk->provider->mapped)
		__atomic_compare_exchange_n(&talk->provider->segment.shm->disabled, &none, reason, false, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED);
	pthread_mutex_unlock(&talk->provider->lock);
}

/* Listens to the conversation's end: DONE, FAILED (in `message`), or 0. Where an answer of ours didn't get through (status < 0), the
 * agent may have waited too long for that answer, and have said so before it closed. */
static enum ada_message_type listen_on(struct ada_talk *talk, union message *message, int status, struct ada_choice_ahead *ahead)
{
	for (;;) {
		if (status)
			shutdown(talk->socket, SHUT_WR); /* it needn't wait for more */
		if (receive(talk->socket, message) || message->head.type == ADA_MESSAGE_HELLO)
			return 0;
		if (message->head.type == ADA_MESSAGE_DONE || message->head.type == ADA_MESSAGE_FAILED)
			return message->head.type;
		if (!status && message->head.type == ADA_MESSAGE_MODULE) {
			if (!(message->module.flags & ADA_MODULE_LATE))
				ada_choice_ahead_begin(ahead, talk, message->module.module_id + 1);
			ada_server_owes(talk->recorder->server, talk->socket, true);
			status = answer_module(talk, &message->module);
			ada_server_owes(talk->recorder->server, talk->socket, false);
		}
	}
}

/* The peer itself, where the kernel tells that (Linux 6.5; of one that is gone: 6.16). Its number could be another's by now. */
static int peer_pidfd(int socket)
{
	int fd = -1;
	socklen_t length = sizeof fd;

	return getsockopt(socket, SOL_SOCKET, PEER_PIDFD, &fd, &length) ? -1 : fd;
}

static void converse(struct ada_talk *talk, union message *message)
{
	struct ada_recorder *recorder = talk->recorder;
	int status = ada_talk_greet(talk, &message->hello);
	bool first = talk->start || talk->fork, done;
	struct ada_choice_ahead ahead = { .begun = false };
	enum ada_message_type end;

	ada_server_reached(recorder->server, talk->socket, ADA_TALK_GREETED);
	ada_server_owes(recorder->server, talk->socket, false);
	if (!talk->provider)
		return;
	if (!first)
		note_begin(talk->provider);
	end = listen_on(talk, message, status, &ahead);
	ada_choice_ahead_end(&ahead);
	done = end == ADA_MESSAGE_DONE;
	if (first && !done)
		note_failed(talk, end == ADA_MESSAGE_FAILED ? message->failed.reason : ADA_DISABLE_NOT_READY);
	note_end(talk->provider);
	ada_server_reached(recorder->server, talk->socket, ADA_TALK_TOLD);
	ada_recorder_wake(recorder);
	if (talk->start)
		ada_stock_refill(recorder->stock, false);
	if (done && talk->start)
		ada_policy_warn_unknown(recorder->policy, talk->provider);
	if (done && !talk->late)
		ada_policy_catch_up(recorder->policy, talk->provider, talk->fork ? 1 : talk->version);
}

void ada_conversation_run(struct ada_recorder *recorder, int socket)
{
	struct ada_talk talk = { .recorder = recorder, .socket = socket, .pidfd = -1 };
	struct ucred peer;
	socklen_t length = sizeof peer;
	union message message;

	if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) || !peer.pid)
		return;
	talk.pid = peer.pid;
	talk.version = ada_policy_version(recorder->policy);
	if (peer.uid != geteuid())
		limit_wait(socket, STRANGER_SECONDS);
	if (receive(socket, &message) || message.head.type != ADA_MESSAGE_HELLO || !may_talk(recorder, &peer, &message.hello))
		return;
	if (peer.uid != geteuid())
		limit_wait(socket, ADA_SERVER_IDLE_SECONDS);
	ada_server_owes(recorder->server, socket, true);
	ada_server_await(recorder->server, socket, talk.pid, ADA_TALK_GREETED);
	talk.pidfd = peer_pidfd(socket);
	converse(&talk, &message);
	if (talk.pidfd >= 0)
		close(talk.pidfd);
	if (talk.ready)
		ada_stock_done(recorder->stock, talk.ready);
}
