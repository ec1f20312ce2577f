#include "query/session/live_open.h"
#include "base/fault.h"

#define TRIES 8 /* a thread finishes a file every few ms at most */

int ada_live_open(struct atf_thread **thread, const char *directory, struct atf_message *message)
{
	for (int i = 0; i < TRIES; i++) {
		int status;

		ada_fault_hold();
		status = atf_thread_open(thread, directory, message);
		if (!ada_fault_release())
			return status;
		if (!status)
			atf_thread_close(*thread);
	}
	return atf_thread_open(thread, directory, message); /* a fault is the answer's now */
}
