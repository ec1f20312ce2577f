/* A small process beside the recorder, which does nothing until the recorder dies. Then the keeper finishes the session as `ada recover`
 * would, with what was in shared memory, which its descriptors keep. A recorder that ends in order ends its keeper, too.
 *
 * The keeper is in a session of its own, hears no signal that means the recorder, and runs alone: whatever kills both leaves the disk as
 * it is, and /dev/shm where memory lies there. The keeper writes to recover.log in the session what it did.
 */
#ifndef ADA_RECOVER_KEEPER_H
#define ADA_RECOVER_KEEPER_H
#include "recorder/index/keeping.h"

#define ADA_KEEPER_NAME "ada-keeper"
#define ADA_KEEPER_LOG "recover.log"

pid_t ada_keeper_start(const struct ada_keeping *keeping); /* in the recorder: the keeper's pid, or -errno */
#endif
