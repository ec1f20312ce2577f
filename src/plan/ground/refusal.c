/* The keys and texts of refusals: see refusal.h. */
#include "plan/ground/refusal.h"

const char *ada_refusal_key(enum ada_refusal refusal)
{
	static const char *const keys[] = { "",
#define X(id, key, text) key,
					    ADA_REFUSALS(X)
#undef X
	};

	return refusal < ADA_REFUSAL_COUNT ? keys[refusal] : "";
}

const char *ada_refusal_text(enum ada_refusal refusal)
{
	static const char *const texts[] = { "",
#define X(id, key, text) text,
					     ADA_REFUSALS(X)
#undef X
	};

	return refusal < ADA_REFUSAL_COUNT ? texts[refusal] : "";
}
