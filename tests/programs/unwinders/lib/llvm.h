/* LLVM's libunwind, of which Debian's header conflicts with that of the other one. */
#ifndef LLVM_H
#define LLVM_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { UNW_REG_IP = -1, UNW_REG_SP = -2 };
struct unw_context {
	uint64_t words[64];
};
struct unw_cursor {
	uint64_t words[64];
};
struct unw_proc {
	uint64_t start_ip, rest[15];
};

int unw_getcontext(struct unw_context *context);
int unw_init_local(struct unw_cursor *cursor, struct unw_context *context);
int unw_step(struct unw_cursor *cursor);
int unw_get_reg(struct unw_cursor *cursor, int number, uint64_t *value);
int unw_get_proc_info(struct unw_cursor *cursor, struct unw_proc *info);

#ifdef __cplusplus
}
#endif
#endif
