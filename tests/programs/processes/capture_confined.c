/* What arguments point at is captured by a call that this program's filter ends it for: from then on only where it is surely readable.
 * trace: --trigger=symbol=take@pre=1000ev,post=1000ev --capture=take:1=str
 * states: failed
 * expect: took 4, closed 4
 */
#define _GNU_SOURCE
#include "check.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

NOINLINE int take(const char *text)
{
	BARRIER;
	return *text != 0;
}

int main(void)
{
	struct sock_filter filter[] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
					BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
					BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	struct sock_fprog program = { sizeof filter / sizeof *filter, filter };
	char on_stack[16] = "on_stack", *mapped = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const char *const texts[] = { "warm", on_stack, "a_constant", mapped };
	const char *const paths[] = { "/no/file", "/no/such/file", "/no/such/file", "/no/such/file" };
	int taken = 0, closed = 0;

	CHECK(mapped != MAP_FAILED);
	strcpy(mapped, "in_a_mapping");
	for (int i = 0; i < 4; i++) { /* the same calls before and after: ones that are new need a system call of ada's */
		taken += take(texts[i]);
		errno = 0;
		closed += open(paths[i], O_RDONLY) == -1 && errno == ENOENT;
		if (!i)
			CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
	}
	printf("took %d, closed %d\n", taken, closed);
	return 0;
}
