#ifndef ADA_RECORDER_PAGE_H
#define ADA_RECORDER_PAGE_H
#include <stdint.h>

/* What a page fault of new memory takes on this machine, in ns, with its page's zeroes: 500 to 3,000, in guests whose host keeps their page
 * tables ten times that. 16 pages are tried. 0: not known. */
uint64_t ada_page_fault_ns(void);
#endif
