/* An initialiser that another thread runs: pthread_once. */
#define OBJECT pthread_once_t
#define FIRST PTHREAD_ONCE_INIT
#define ONCE pthread_once(&once, initialise)
#include "once.h"
