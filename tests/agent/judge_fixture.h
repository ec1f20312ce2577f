/* A segment that the test fills, for the judge alone: two tables, states, samples, the ring of marks. */
#ifndef ADA_TESTS_JUDGE_FIXTURE_H
#define ADA_TESTS_JUDGE_FIXTURE_H
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>
#include "agent/judge/parts.h"

#define FUNCTION 7 /* dense number that rules name */

extern struct ada_shm *shm;
extern struct ada_registers registers; /* of call_at and return_at */
int begin(void **state);
int end(void **state);
struct ada_policy_table *table(uint32_t number);
char *policy(void);
void force(uint32_t number); /* from now on this table is in force */
void name_in(struct ada_policy_table *in, uint32_t number, uint64_t mask);
/* A rule in a slot of table 0, which names FUNCTION; the caller fills in the rest. */
struct ada_rule *rule_put(uint32_t slot, enum ada_rule_kind kind);
struct ada_mark *marks(void);
uint64_t marked(void);
struct ada_judged call_at(uint64_t counter);
struct ada_judged return_at(uint64_t start, uint64_t counter);
/* Whether this event marks. */
bool marks_for(const struct ada_judged *event);
bool call_marks(uint64_t counter);
bool return_marks(uint64_t start, uint64_t counter);
bool c_compare(double a, enum ada_rule_op op, double b);

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
#endif
