/* The same by C++. */
#include <mutex>
#include "causes.h"
#define OBJECT std::once_flag
#define FIRST {}
#define ONCE std::call_once(once, initialise)
extern "C" {
#include "once.h"
}
