/* The words of a process's memory by which a function is hooked: the bytes of its patch, the distances of calls that lead to near stubs,
 * GOT slots. Each in two forms: with the hook in, and as the file has it, when the function is called with nothing in between; the patch of a mutex's
 * function leads to its filter then (abi/trampoline.h). Every word
 * is right in either form, whatever the others are: so nothing breaks where only some are changed. Main thread. */
#ifndef ADA_RECORDER_WORDS_H
#define ADA_RECORDER_WORDS_H
#include "recorder/budget/text.h"

#define ADA_WORDS_MAX 20000u /* of a function */

struct ada_word {
	uint64_t at;
	uint32_t bytes; /* 2, 4, 5 or 8; in one page */
	uint8_t in[8], out[8];
};
/* Else a slot, which is data. */
static inline bool ada_word_is_code(const struct ada_word *word)
{
	return word->bytes < sizeof word->in;
}

static inline bool ada_word_is_call(const struct ada_word *word)
{
	return word->bytes == sizeof(int32_t);
}
/* A call whose bytes are those with the hook in, and lead to this function's hook. */
bool ada_word_leads(const struct ada_word *word, const struct ada_text *text, uint64_t function_id);

struct ada_words {
	ADA_ARRAY(struct ada_word) items;
	bool filters;	 /* out is a filter: calls of a mutex's function that have nobody to wait for pass, the others are recorded */
	bool patch;	 /* the first one is the patch: threads may stand between its original instructions, ... */
	uint32_t copied; /* ... which are so many bytes, its own or more: what a loop that leads back into them takes, too */
};

/* Why a function's hook stays. */
enum ada_fixed {
	ADA_FIXED_NOT = 0,
	ADA_FIXED_NAMED,   /* a rule or --keep names it */
	ADA_FIXED_OBJECTS, /* threads wait in it, or wake others: causes need it */
	ADA_FIXED_HOST,	   /* another function's jump lies in its bytes */
	ADA_FIXED_CALL,	   /* a call among its first instructions returns into the patch's bytes */
	ADA_FIXED_PAGES,   /* a word lies in two pages, and could be left half written */
	ADA_FIXED_MANY,	   /* too many calls lead to near stubs */
	ADA_FIXED_UNKNOWN, /* the memory isn't as its plan says */
};

/* Finds the function's words, with its hook in. Only what is surely the agent's counts: a patch, distance or slot must lead to a
 * trampoline or stub that says that it is this function's. Else why the hook stays. Calls that were never made, neither here nor in earlier
 * runs, are left out: most never will be, and each lies in a page of its own. */
enum ada_fixed ada_words_find(struct ada_words *words, const struct ada_text *text, uint64_t function_id);
/* Of a function that is out by all of its words: adds slots that have come since, or calls that have been made since, and are in. */
void ada_words_add(struct ada_words *words, const struct ada_text *text, uint64_t function_id);
bool ada_words_have(const struct ada_words *words, uint64_t at);			  /* one that begins there */
bool ada_words_are(const struct ada_words *words, const struct ada_text *text, bool out); /* all have that form in memory */
#endif
