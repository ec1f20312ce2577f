# The agent's large tables, in a segment that the file says is not writable: collectors (Boehm's) take every writable segment of
# every module for roots, and would read megabytes of ours at each collection. ada_state_open() makes it writable, in processes
# that record. It lies where code reaches it by fixed distances, which a mapping of its own would not.
#include "abi/page.h"
#include "offsets.h"

.macro TABLE name, bytes
	.globl \name
	.hidden \name
	.type \name,@object
	.size \name,\bytes
	.balign 64
\name:	.skip \bytes
.endm

	.section .ada_state,"a",@nobits
	.balign ADA_PAGE_BYTES
	.globl ada_state, ada_state_end
	.hidden ada_state, ada_state_end
ada_state:
	TABLE ada_sites, SITE_BYTES*ADA_STUB_COUNT
	TABLE ada_site_hash, 8<<ADA_SITE_HASH_BITS
	TABLE ada_sites_refused, 8*ADA_REFUSED
	TABLE ada_rooms, 8*ADA_THREADS_MAX
	TABLE ada_modules, MODULE_BYTES*ADA_MODULES_MAX
	.balign ADA_PAGE_BYTES
	TABLE ada_limit, ADA_PAGE_BYTES		# alone: a fork's child finds it zero
	.balign ADA_PAGE_BYTES
ada_state_end:
	# Never written: it takes no memory
	TABLE ada_no_flags, ADA_FUNCTIONS_MAX
	.balign ADA_PAGE_BYTES
	.section .note.GNU-stack,"",@progbits
