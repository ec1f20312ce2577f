/* What dl_iterate_phdr tells unwinders of our code, each piece as an object of its own (unwinder.c): its place, and the tables that this
 * unwinder reads rightly. Unwinders may keep pointers to segments, so a view stays where it is.
 */
#ifndef ADA_AGENT_VIEW_H
#define ADA_AGENT_VIEW_H
#include <elf.h>
#include <stdint.h>

enum ada_view_kind {		       /* stubs.S */
		     ADA_VIEW_GUARDED, /* for unwinders without accessors that the personality knows */
		     ADA_VIEW_RAISED,
		     ADA_VIEW_PLAIN,
		     ADA_VIEW_KINDS,
};

struct ada_view {
	Elf64_Phdr segments[2];
};

/* frames: as an .eh_frame_hdr. nongnu libunwind reads them up to the end of the last segment: none ends before them. */
static inline void ada_view_fill(struct ada_view *view, uint64_t start, uint64_t bytes, const char *frames)
{
	view->segments[0] = (Elf64_Phdr){ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_memsz = bytes, .p_filesz = -1 - start };
	view->segments[1] = (Elf64_Phdr){ .p_type = PT_GNU_EH_FRAME, .p_flags = PF_R, .p_vaddr = (uint64_t)frames - start };
}

/* find_object.c; *start: the base of its segments' addresses. */
const struct ada_view *ada_stub_view(enum ada_view_kind kind, uint64_t *start);
/* trampoline.c: the view behind `*at`, which is NULL before the first; NULL behind the last. */
const struct ada_view *ada_region_view(const void **at, enum ada_view_kind kind, uint64_t *start);
#endif
