#include "query_session.h"
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "abi/record.h"
#include "synth.h"

#define FUNCTIONS 3000
#define CALLEES 5

const struct bench_mix bench_regular = { "regular", 32 }, bench_irregular = { "irregular", 4 };

struct program {
	uint64_t state, left;
	unsigned int odds;
	struct synth_thread *thread;
};
static uint64_t draw(uint64_t *state)
{
	uint64_t value = *state += 0x9e3779b97f4a7c15u;

	value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9u;
	return value ^ value >> 27;
}

static uint64_t id_of(uint32_t function)
{
	return ADA_FUNCTION_ID(function % 3, function / 3);
}

/* A function's callees and how it calls them are its own; how often varies from call to call. */
static void run_function(struct program *program, uint32_t function, unsigned int depth)
{
	uint64_t own = function * 0x9e3779b97f4a7c15u, chance = draw(&program->state);
	unsigned int loops = depth < 3 ? 8 : (own >> 20) % 3 + !(chance & (program->odds - 1));

	synth_call(program->thread, id_of(function));
	synth_pass(program->thread, chance >> 8 & 63);
	for (unsigned int i = 0; i < loops && depth < 24 && program->left > 2; i++) {
		uint64_t callee = own + i % CALLEES * 0x2545f4914f6cdd1du;

		program->left -= 2;
		/* Few functions are called most. */
		run_function(program, (uint32_t)((callee >> 33) % ((callee & 7) ? FUNCTIONS / 20 : FUNCTIONS)), depth + 1);
		synth_pass(program->thread, chance >> (16 + i % 4 * 8) & 31);
	}
	synth_pass(program->thread, chance >> 50 ? 5 : 20000);
	synth_return(program->thread);
}

static void add_modules(struct synth *synth)
{
	static char buffers[FUNCTIONS / 3][16];
	static const char *names[FUNCTIONS / 3];
	char module[64];

	for (uint32_t i = 0; i < FUNCTIONS / 3; i++) {
		snprintf(buffers[i], sizeof buffers[i], "function_%u", i);
		names[i] = buffers[i];
	}
	for (unsigned int i = 0; i < 3; i++) {
		snprintf(module, sizeof module, "/usr/lib/libbench%u.so", i);
		synth_module(synth, module, names, FUNCTIONS / 3);
	}
}

void bench_make(const char *path, uint64_t events, uint32_t threads, const struct bench_mix *mix)
{
	struct synth *synth = synth_open(path);

	synth_process(synth, 100);
	add_modules(synth);
	for (uint32_t i = 0; i < threads; i++) {
		struct program program = {
			.state = i, .left = events / threads - 2, .odds = mix->odds, .thread = synth_thread(synth, 100 + i, "bench")
		};

		synth_call(program.thread, id_of(0));
		for (uint32_t next = 0; program.left > 2; next++) {
			program.left -= 2;
			run_function(&program, 1 + next % 50, 1);
		}
		synth_return(program.thread);
	}
	synth_close(synth, true);
}

void bench_make_many(const char *path, uint32_t threads, bool finished)
{
	struct synth *synth = synth_open(path);

	synth_process(synth, 100);
	add_modules(synth);
	for (uint32_t i = 0; i < threads; i++) {
		struct synth_thread *thread = synth_thread(synth, 100 + i, "bench");

		synth_pass(thread, 1000 * i);
		synth_capture(thread, true);
		synth_window(thread);
		for (uint32_t j = 0; j < 20; j++) {
			synth_call(thread, id_of(i + j));
			synth_pass(thread, 10);
			synth_return(thread);
		}
		synth_window_end(thread);
	}
	synth_close(synth, finished);
}

/* --- a real one --------------------------------------------------------------------------------------------------------- */

static const char script[] = "local words, n = {}, 0 "
			     "for i = 1, 10000 do "
			     "local word = string.format('%x', i * 2654435761 % 4294967296) words[#words + 1] = word:gsub('a', 'b') "
			     "end "
			     "table.sort(words) "
			     "for word in table.concat(words, ' '):gmatch('%w+') do if word:find('ff') then n = n + #word end end "
			     "print(n)";

bool bench_record(char *path, size_t size, const char *directory, const char *ada)
{
	char latest[PATH_MAX], target[PATH_MAX];
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		int null = open("/dev/null", O_WRONLY);

		if (null < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0)
			_exit(127);
		execl(ada, ada, "trace", "-q", "--on-full=block", "-o", directory, "--", "lua", "-e", script, NULL);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || status)
		return false;
	snprintf(latest, sizeof latest, "%s/latest", directory);
	if (!realpath(latest, target) || strlen(target) >= size)
		return false;
	strcpy(path, target);
	return true;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	return remove(path);
}

void bench_remove(const char *path)
{
	nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}
