/* Pages of x86-64, for both sides and for the assembly. */
#ifndef ADA_ABI_PAGE_H
#define ADA_ABI_PAGE_H

#ifdef __ASSEMBLER__
#define ADA_PAGE_BYTES 4096
#else
#define ADA_PAGE_BYTES 4096ull
#define ADA_HUGE_PAGE_BYTES (2ull << 20)
#endif
#endif
