/* See fake_recorder.h. One thread serves every conversation of the child and its children until the child has ended. */
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include "fake_recorder.h"

#define CHUNKS 32
#define CONNECTIONS_MAX 16

static size_t page_up(size_t bytes)
{
	return (bytes + 4095) & ~4095ull;
}

struct ada_shm_module *run_module(struct ada_shm *shm, uint32_t id)
{
	return (struct ada_shm_module *)((char *)shm + shm->modules_offset) + id;
}

struct ada_mark *run_marks(struct ada_shm *shm)
{
	return (struct ada_mark *)((char *)shm + shm->marks_offset);
}

static void policy_make(const struct run *run, struct ada_shm *shm)
{
	struct ada_policy_table *table = (void *)((char *)shm + shm->policy_offset);

	shm->policy_flags = (uint64_t)table + ADA_POLICY_FLAGS - (uint64_t)&shm->policy_flags;
	shm->detail.pin.start = ADA_PIN_NONE;
	table->depth_limit = UINT64_MAX;
	table->crash_rules = 1;
	table->signal_rules = 2;
	table->signals = run->signals;
	table->rules[0] = (struct ada_rule){ .kind = ADA_RULE_CRASH, .flags = ADA_RULE_GLOBAL | ADA_RULE_ENABLED };
	table->rules[1] = (struct ada_rule){ .kind = ADA_RULE_SIGNAL,
					     .flags = ADA_RULE_GLOBAL | ADA_RULE_ENABLED,
					     .signals = run->signals };
}

static int segment_make(struct run *run, pid_t pid, uint64_t *bytes)
{
	int fd = memfd_create("segment", MFD_CLOEXEC);
	struct ada_shm *shm, head = { .magic = ADA_SHM_MAGIC,
				      .version = ADA_WIRE_VERSION,
				      .header_bytes = sizeof head,
				      .index_chunks = CHUNKS,
				      .chunk_bytes = ADA_CHUNK_BYTES,
				      .pid = pid,
				      .recorder_pid = getpid(),
				      .free_offset = 4096,
				      .sealed_offset = 8192,
				      .modules_offset = 12288 };

	head.threads_offset = head.modules_offset + page_up(ADA_MODULES_MAX * sizeof(struct ada_shm_module));
	head.marks_offset = head.threads_offset + page_up(ADA_THREADS_BYTES);
	head.policy_offset = head.marks_offset + ADA_MARKS * sizeof(struct ada_mark);
	head.policy_flags = head.policy_offset + ADA_POLICY_FLAGS - offsetof(struct ada_shm, policy_flags);
	head.index_offset = head.policy_offset + ADA_POLICY_BYTES;
	head.marks_offset = head.index_offset + CHUNKS * ADA_CHUNK_BYTES;
	head.policy_offset = head.marks_offset + ADA_MARKS * sizeof(struct ada_mark);
	head.total_bytes = *bytes = head.policy_offset + page_up(ADA_POLICY_BYTES);
	if (run->fault == FAULT_SEGMENT_GARBAGE)
		memset(&head, 0x5a, sizeof head);
	if (run->fault == FAULT_SEGMENT_RING)
		head.sealed_offset = *bytes - CHUNKS * sizeof(uint32_t);
	if (ftruncate(fd, run->fault == FAULT_SEGMENT_SHORT ? 4096 : *bytes))
		abort();
	if (run->fault == FAULT_SEGMENT_SHORT)
		return fd;
	shm = mmap(NULL, *bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	*shm = head;
	if (run->fault != FAULT_SEGMENT_GARBAGE)
		policy_make(run, shm);
	run->shm[run->segments++] = shm;
	return fd;
}

/* Behind two words that it takes long. */
static void answer(int socket, void *message, uint32_t bytes, void *more, uint32_t more_bytes, int fd)
{
	static const struct ada_message wait = { ADA_MESSAGE_WAIT, sizeof wait };
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct iovec vectors[] = { { message, bytes }, { more, more_bytes } };
	struct msghdr header = { .msg_iov = vectors, .msg_iovlen = 2 };

	if (fd >= 0) {
		header.msg_control = &control;
		header.msg_controllen = sizeof control;
		control.head.cmsg_len = CMSG_LEN(sizeof(int));
		control.head.cmsg_level = SOL_SOCKET;
		control.head.cmsg_type = SCM_RIGHTS;
		memcpy(CMSG_DATA(&control.head), &fd, sizeof fd);
	}
	for (int i = 0; i < 2; i++)
		send(socket, &wait, sizeof wait, MSG_NOSIGNAL);
	sendmsg(socket, &header, MSG_NOSIGNAL);
	if (fd >= 0)
		close(fd);
}

static void hello_answer(struct run *run, int socket, const struct ada_hello *hello)
{
	struct ucred peer = { 0 };
	socklen_t size = sizeof peer;
	struct ada_welcome welcome = { .head = { ADA_MESSAGE_WELCOME, sizeof welcome },
				       .wire_version = ADA_WIRE_VERSION,
				       .flags = run->welcome };
	int fd = -1;

	getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size);
	run->hello[run->hellos++] = *hello;
	if (run->fault == FAULT_VERSION)
		welcome.wire_version++;
	if (run->fault == FAULT_TYPE)
		welcome.head.type = ADA_MESSAGE_PLAN;
	if (hello->kind != ADA_HELLO_RESUME && (run->welcome & ADA_WELCOME_RECORD))
		fd = segment_make(run, peer.pid, &welcome.shm_bytes);
	answer(socket, &welcome, sizeof welcome, NULL, 0, fd);
}

/* Only the beginning of the plan, or all of it overwritten. */
static int plan_spoil(int fd, size_t keep, size_t bytes)
{
	char *contents = malloc(bytes);
	int copy = memfd_create("plan", MFD_CLOEXEC);

	memset(contents, 'x', bytes);
	if (pread(fd, contents, keep, 0) != (ssize_t)keep || write(copy, contents, keep ? keep : bytes) < 0)
		abort();
	close(fd);
	free(contents);
	return copy;
}

static void module_answer(struct run *run, int socket, const struct ada_module_message *module)
{
	struct ada_plan_reply reply = { .head = { ADA_MESSAGE_PLAN, sizeof reply }, .module_id = module->module_id };
	int fd = -1;

	run->modules++;
	if (run->ahead < run->modules - run->applied)
		run->ahead = run->modules - run->applied;
	run->late = module->flags & ADA_MODULE_LATE;
	run->filter_bytes = run->function_base = 0;
	if (run->plan)
		fd = run->plan(run_module(run->shm[run->segments - 1], module->module_id), &reply.flags, &reply.plan_bytes);
	reply.head.bytes += reply.filter_bytes = run->filter_bytes;
	reply.function_base = run->function_base;
	if (run->fault == FAULT_PLAN_OTHER_MODULE)
		reply.module_id++;
	if (fd >= 0 && (run->fault == FAULT_PLAN_SHORT || run->fault == FAULT_PLAN_GARBAGE))
		fd = plan_spoil(fd, run->fault == FAULT_PLAN_SHORT ? reply.plan_bytes / 2 : 0, reply.plan_bytes);
	answer(socket, &reply, sizeof reply, run->filter, run->filter_bytes, fd);
}

/* False: the conversation is over. */
static bool serve(struct run *run, int socket)
{
	union {
		struct ada_message head;
		char bytes[4096];
	} message;
	ssize_t got = recv(socket, &message, sizeof message, 0);

	if (got < (ssize_t)sizeof message.head)
		return false;
	switch (message.head.type) {
	case ADA_MESSAGE_HELLO:
		if (run->fault == FAULT_SILENT)
			return true;
		if (run->fault == FAULT_CLOSE_AT_HELLO)
			return false;
		hello_answer(run, socket, (void *)&message);
		return true;
	case ADA_MESSAGE_MODULE:
		if (run->fault == FAULT_CLOSE_AT_MODULE)
			return false;
		module_answer(run, socket, (void *)&message);
		return true;
	case ADA_MESSAGE_APPLIED: run->applied++; return true;
	case ADA_MESSAGE_UNLOAD: run->unloads++; return true;
	default: run->done++; return false;
	}
}

static pid_t spawn(const struct run *run, char *const *arguments, const char *socket, int output)
{
	char preload[8192], variable[256];
	pid_t child = fork();

	if (child)
		return child;
	snprintf(preload, sizeof preload, "%s%s%s", run->preload_also ? run->preload_also : "", run->preload_also ? ":" : "",
		 getenv("ADA_TEST_AGENT"));
	snprintf(variable, sizeof variable, "%s", socket);
	dup2(output, 1);
	close_range(3, ~0u, CLOSE_RANGE_CLOEXEC); /* what the test itself was started with */
	setenv("LD_PRELOAD", preload, 1);
	setenv(ADA_ENV_SOCKET, variable, 1);
	unsetenv("ADA_TEST_AGENT");
	execv(arguments[0], arguments);
	_exit(127);
}

static void output_read(struct run *run, int fd, pid_t child)
{
	ssize_t got = read(fd, run->output + strlen(run->output), sizeof run->output - 1 - strlen(run->output));

	(void)!got;
	if (run->ready && strstr(run->output, "ready")) {
		run->ready(run, child);
		run->ready = NULL;
	}
}

void run_program(struct run *run, char *const *arguments)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct pollfd polls[CONNECTIONS_MAX + 3];
	int pipes[2], listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), count = 3;
	char directory[] = "/tmp/ada-test-XXXXXX";
	pid_t child;

	if (!mkdtemp(directory) || pipe2(pipes, O_CLOEXEC))
		abort();
	snprintf(address.sun_path, sizeof address.sun_path, "%s/socket", directory);
	if (run->fault != FAULT_NO_SOCKET && (bind(listener, (void *)&address, sizeof address) || listen(listener, 64)))
		abort();
	child = spawn(run, arguments, address.sun_path, pipes[1]);
	close(pipes[1]);
	polls[0] = (struct pollfd){ .fd = syscall(SYS_pidfd_open, child, 0), .events = POLLIN };
	polls[1] = (struct pollfd){ .fd = run->fault == FAULT_NO_SOCKET ? -1 : listener, .events = POLLIN };
	polls[2] = (struct pollfd){ .fd = pipes[0], .events = POLLIN };
	while (poll(polls, count, -1) > 0) {
		if ((polls[1].revents & POLLIN) && count < CONNECTIONS_MAX + 3)
			polls[count++] = (struct pollfd){ .fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC), .events = POLLIN };
		for (int i = 3; i < count; i++) {
			if (!polls[i].revents || serve(run, polls[i].fd))
				continue;
			close(polls[i].fd);
			polls[i--] = polls[--count];
		}
		if (polls[2].revents & POLLIN)
			output_read(run, pipes[0], child);
		else if (polls[2].revents & POLLHUP)
			polls[2].fd = -1; /* all that held it are gone */
		if ((polls[0].revents & POLLIN) && polls[2].fd == -1)
			break;
	}
	/* What it said last may lie there yet. */
	for (int i = 3; i < count; i++)
		while (poll(&polls[i], 1, 0) == 1 && serve(run, polls[i].fd))
			;
	waitpid(child, &run->status, 0);
	close(polls[0].fd);
	close(pipes[0]);
	close(listener);
	unlink(address.sun_path);
	rmdir(directory);
}

void run_free(struct run *run)
{
	for (uint32_t i = 0; i < run->segments; i++)
		munmap(run->shm[i], run->shm[i]->total_bytes);
}
