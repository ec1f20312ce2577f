/* What an agent says: any messages in any order, in conversations that begin and end anywhere, over a table of modules that holds
 * anything. Each ends, with answers that keep to their sizes, and leaves a provider that can be told of and ended.
 *
 * An input begins with what agents write into their tables; then come messages, of which the sizes are mostly right. */
#include <assert.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "memory.h"
#include "recorder/policy/policy.h"
#include "recorder/process/life.h"
#include "recorder/process/server.h"
#include "recorder/session/manifest.h"
#include "recorder_world.h"

#define MODULES 8u
#define MESSAGES_MAX 24

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static struct fuzz_input tables; /* what new segments' tables of modules are filled from */

static void write_modules(struct ada_segment *segment)
{
	static const char *const paths[] = { FUZZ_LIBRARY, FUZZ_LIBRARY, "/none/there", "relative", "/dev/null", "", "/proc/self/mem" };

	segment->shm->module_count = fuzz_byte(&tables) % (MODULES + 2);
	for (uint32_t i = 0; i < MODULES; i++) {
		struct ada_shm_module *module = &segment->modules[i];
		uint8_t what = fuzz_byte(&tables);

		module->present = what / 32 % 4;
		module->base = what & 128 ? fuzz_number(&tables) : 0x10000;
		module->build_id_bytes = what % 32 < 16 ? 0 : fuzz_byte(&tables);
		if (what % 16 < sizeof paths / sizeof *paths)
			strcpy(module->path, paths[what % 16]);
		else
			memset(module->path, what, sizeof module->path); /* without an end */
		if (what == 255)
			module->path[0] = '/';
	}
	segment->shm->crash.present = fuzz_byte(&tables);
	segment->shm->crash.stack_bytes = fuzz_byte(&tables) * 16u;
	for (uint32_t i = 0; i < 2; i++)
		segment->heirs[i] = (struct ada_shm_heir){
			.state = fuzz_byte(&tables) % 3, .kind = fuzz_byte(&tables), .own = i, .pid = (uint32_t)getpid()
		};
	segment->shm->heirs_unlisted = fuzz_byte(&tables) % 4;
}

union message {
	struct ada_message head;
	struct ada_hello hello;
	struct ada_module_message module;
	struct ada_failed failed;
	uint8_t bytes[256];
};

/* One message of the input; its size. */
static size_t compose(struct fuzz_input *input, union message *message, uint8_t what)
{
	static const uint8_t sizes[] = { sizeof(struct ada_hello),	sizeof(struct ada_welcome), sizeof(struct ada_module_message),
					 sizeof(struct ada_plan_reply), sizeof(struct ada_applied), sizeof(struct ada_unload),
					 sizeof(struct ada_done),	sizeof(struct ada_failed) };
	uint32_t type = what % 8 + 1;
	size_t size = sizes[type - 1];

	memset(message, 0, sizeof *message);
	message->head = (struct ada_message){ type, (uint32_t)size };
	if (type == ADA_MESSAGE_HELLO)
		message->hello = (struct ada_hello){ .head = message->head,
						     .wire_version = ADA_WIRE_VERSION,
						     .kind = fuzz_byte(input) % 5,
						     .parent_pid = (uint32_t)getpid(),
						     .thread_id = (uint32_t)getpid(),
						     .provider = fuzz_byte(input) % 4 - 1u,
						     .heir = fuzz_byte(input) % 4 - 1u };
	else if (type == ADA_MESSAGE_MODULE)
		message->module = (struct ada_module_message){ message->head, fuzz_byte(input), fuzz_byte(input) };
	else if (type == ADA_MESSAGE_FAILED)
		message->failed.reason = fuzz_byte(input);
	if (what & 64) { /* a word of it is something else */
		uint64_t number = fuzz_number(input);

		memcpy(message->bytes + fuzz_byte(input) % (size / 4) * 4, &number, 4);
	}
	if (what & 128)
		size = fuzz_byte(input) % sizeof *message;
	return size;
}

static void take_answers(int socket)
{
	static union {
		struct ada_message head;
		uint8_t bytes[sizeof(struct ada_plan_reply) + ADA_FILTER_BYTES_MAX];
	} answer;
	ssize_t got;

	while ((got = recv(socket, &answer, sizeof answer, MSG_DONTWAIT | MSG_TRUNC)) > 0) {
		assert((size_t)got >= sizeof answer.head && (size_t)got <= sizeof answer && answer.head.bytes == (size_t)got);
		assert(answer.head.type == ADA_MESSAGE_WELCOME || answer.head.type == ADA_MESSAGE_PLAN ||
		       answer.head.type == ADA_MESSAGE_PRESENCE);
	}
}

/* All that is said lies in the socket when the recorder begins to listen. */
static void converse(struct ada_recorder *recorder, struct fuzz_input *input)
{
	union message message;
	int pair[2];

	fuzz_socket_pair(SOCK_SEQPACKET, pair);
	for (int i = 0; i < MESSAGES_MAX && (!i || input->at < input->end); i++) {
		uint8_t what = i ? fuzz_byte(input) : fuzz_byte(input) & ~7; /* HELLO comes first */
		size_t size = compose(input, &message, what);

		if (send(pair[1], &message, size, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 || (what & 8 && what & 16))
			break;
	}
	shutdown(pair[1], SHUT_WR);
	ada_conversation_run(recorder, pair[0]);
	take_answers(pair[1]);
	close(pair[0]);
	close(pair[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	static const char *const rules[] = { "manual", "symbol=*", NULL };
	struct fuzz_input input = { bytes, bytes + length };
	uint8_t modes = fuzz_byte(&input); /* 1: with rules, 2: of children, too */
	struct ada_recorder *recorder;

	tables = input;
	input.at = input.end - input.at > 32 ? input.at + 32 : input.end;
	tables.end = input.at;
	fuzz_segment_made = write_modules;
	recorder = fuzz_recorder_begin(modes & 1 ? rules : NULL);
	fuzz_options.follow = modes & 2;
	fuzz_manifests = fuzz_one_in(32, bytes, length);
	for (int i = 0; i < 4 && (!i || input.at < input.end); i++)
		converse(recorder, &input);
	for (size_t i = 0; i < recorder->providers.count; i++) {
		struct ada_provider *provider = recorder->providers.items[i];

		assert(!provider->conversations && !provider->starting);
		ada_provider_drain(provider);
		ada_manifest_write(provider);
	}
	fuzz_recorder_end();
	return 0;
}
