/* Why a process is not recorded, or no more, in words for people. */
#ifndef ADA_RECORDER_DISABLE_H
#define ADA_RECORDER_DISABLE_H
#include "abi/wire.h"

const char *ada_disable_text(enum ada_disable reason); /* a sentence for people */
const char *ada_heir_text(uint32_t kind);	       /* of enum ada_heir_kind, too */
#endif
