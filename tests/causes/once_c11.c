/* The same by C11. */
#include <threads.h>
#define OBJECT once_flag
#define FIRST ONCE_FLAG_INIT
#define ONCE call_once(&once, initialise)
#include "once.h"
