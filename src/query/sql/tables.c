/* The tables and their columns, in the order of SELECT *. The enums of columns in the other files follow these lists. */
#include <strings.h>
#include "query/sql/parts.h"

#define COLUMNS(list) list, sizeof list / sizeof *(list)

/* Hidden columns: not in SELECT *. Those of arguments come first, for arguments are bound to them in this order. */
/* clang-format off */
#define HIDDEN_PROCESS { "process", "TEXT", "directory of its process, where a session has several", true, ADA_SQL_PROCESS }
#define HIDDEN_PID { "pid", "INTEGER", "of the process", true, ADA_SQL_PID }
#define THREAD { "thread", "INTEGER", "number of the thread in its process", false, ADA_SQL_THREAD }
#define TID { "tid", "INTEGER", "the system's number of the thread", false, ADA_SQL_TID }
#define FUNCTION_ID { "function_id", "INTEGER", "the same over all processes", false, ADA_SQL_FUNCTION_ID }
#define FUNCTION { "function", "TEXT", "its name, demangled", false, ADA_SQL_FUNCTION }
#define ARGUMENT(name, type, help) { name, type, help, true, ADA_SQL_ARGUMENT }

#define EVENT_COLUMNS \
	{ "timestamp_ns", "INTEGER", "ns of CLOCK_BOOTTIME", false, ADA_SQL_TIME }, \
	THREAD, TID, \
	{ "index_seq", "INTEGER", "number of the event in its thread", false, ADA_SQL_POSITION }, \
	{ "kind", "TEXT", "call, return, exception; of no function: lost (events are missing here), object, recorder, holder", false, ADA_SQL_KIND }, \
	FUNCTION_ID, FUNCTION, \
	{ "depth", "INTEGER", "calls around it", false, ADA_SQL_PLAIN }, \
	{ "detail_seq", "INTEGER", "number of its detail record; null: none was captured", false, ADA_SQL_PLAIN }
/* What stands in the place of a function in events of other kinds. */
#define NUMBERS_HIDDEN \
	{ "lost", "INTEGER", "how many events a loss stands for", true, ADA_SQL_PLAIN }, \
	{ "object", "INTEGER", "address that the last call before at this depth works on", true, ADA_SQL_PLAIN }, \
	{ "waited_ns", "INTEGER", "how long the program waited for ada here", true, ADA_SQL_PLAIN },             \
	{ "holder", "INTEGER", "tid of who holds the mutex that the last call before at this depth waits for", true, ADA_SQL_PLAIN }
/* clang-format on */

static const struct ada_sql_column events[] = { EVENT_COLUMNS,
						HIDDEN_PROCESS,
						HIDDEN_PID,
						{ "module", "TEXT", "file name of the function's module", true, ADA_SQL_PLAIN },
						NUMBERS_HIDDEN };

static const struct ada_sql_column around[] = { EVENT_COLUMNS,
						{ "offset", "INTEGER", "events from the one asked for: -2, -1, 0, 1, ...", false,
						  ADA_SQL_PLAIN },
						ARGUMENT("of_thread", "INTEGER", "number of the thread"),
						ARGUMENT("of_index_seq", "INTEGER", "number of the event in it"),
						ARGUMENT("n", "INTEGER", "events before and after, 10 if not given"),
						HIDDEN_PROCESS,
						HIDDEN_PID,
						{ "module", "TEXT", "file name of the function's module", true, ADA_SQL_PLAIN },
						NUMBERS_HIDDEN };

static const struct ada_sql_column calls[] = {
	THREAD,
	TID,
	{ "index_seq", "INTEGER", "of the event that began it", false, ADA_SQL_POSITION },
	{ "end_index_seq", "INTEGER", "of the event that ended it; null: none was recorded", false, ADA_SQL_PLAIN },
	{ "start_ns", "INTEGER", "ns of CLOCK_BOOTTIME", false, ADA_SQL_TIME },
	{ "end_ns", "INTEGER", "of an open call: the process's end, or now", false, ADA_SQL_PLAIN },
	{ "duration_ns", "INTEGER", "null: not known", false, ADA_SQL_PLAIN },
	{ "self_ns", "INTEGER", "without the calls directly below", false, ADA_SQL_PLAIN },
	FUNCTION_ID,
	FUNCTION,
	{ "caller", "TEXT", "the function around it; null: outermost", false, ADA_SQL_PLAIN },
	{ "depth", "INTEGER", "calls around it", false, ADA_SQL_PLAIN },
	{ "outcome", "TEXT", "return, exception, open (at the end of the recording) or unknown", false, ADA_SQL_PLAIN },
	HIDDEN_PROCESS,
	HIDDEN_PID,
	{ "module", "TEXT", "file name of the function's module", true, ADA_SQL_PLAIN },
	{ "caller_id", "INTEGER", "function_id of the caller", true, ADA_SQL_PLAIN },
	{ "across_loss", "INTEGER", "1: events were lost meanwhile, duration and self are a guess", true, ADA_SQL_PLAIN },
	{ "on_cpu_ns", "INTEGER", "how long its thread ran meanwhile; null: not recorded", true, ADA_SQL_PLAIN },
	{ "off_cpu_ns", "INTEGER", "how long its thread waited, or was ready and did not run; the same", true, ADA_SQL_PLAIN }
};

static const struct ada_sql_column functions[] = {
	{ "function_id", "INTEGER", "as in events, calls and detail", false, ADA_SQL_FUNCTION_ID },
	{ "name", "TEXT", "demangled", false, ADA_SQL_FUNCTION },
	{ "mangled", "TEXT", "as the module's file has it", false, ADA_SQL_PLAIN },
	{ "module", "TEXT", "file name of the module", false, ADA_SQL_PLAIN },
	{ "address", "INTEGER", "in the module's file", false, ADA_SQL_PLAIN },
	{ "size", "INTEGER", "of its code, in bytes", false, ADA_SQL_PLAIN },
	{ "file", "TEXT", "where it is written; null: no debug information", false, ADA_SQL_PLAIN },
	{ "line", "INTEGER", "the same", false, ADA_SQL_PLAIN },
};

/* clang-format off */
#define REGISTER(name) { name, "INTEGER", "register", false, ADA_SQL_PLAIN }
#define NATIVE(name, help) { name, "INTEGER", help, true, ADA_SQL_PLAIN }
#define VECTOR(name) { name, "INTEGER", "low half of a vector register; null: not captured", false, ADA_SQL_PLAIN }
/* clang-format on */
static const struct ada_sql_column detail[] = {
	THREAD,
	{ "index_seq", "INTEGER", "of its event", false, ADA_SQL_POSITION },
	{ "timestamp_ns", "INTEGER", "ns of CLOCK_BOOTTIME", false, ADA_SQL_TIME },
	{ "kind", "TEXT", "call, return or exception", false, ADA_SQL_KIND },
	FUNCTION,
	{ "x0", "INTEGER", "x86-64 call: rdi rsi rdx rcx r8 r9 rax r10; return: rax rdx xmm0 xmm1", false, ADA_SQL_PLAIN },
	REGISTER("x1"),
	REGISTER("x2"),
	REGISTER("x3"),
	REGISTER("x4"),
	REGISTER("x5"),
	REGISTER("x6"),
	REGISTER("x7"),
	{ "lr", "INTEGER", "return address", false, ADA_SQL_PLAIN },
	{ "fp", "INTEGER", "frame pointer", false, ADA_SQL_PLAIN },
	{ "sp", "INTEGER", "stack pointer", false, ADA_SQL_PLAIN },
	VECTOR("fp0"),
	VECTOR("fp1"),
	VECTOR("fp2"),
	VECTOR("fp3"),
	VECTOR("fp4"),
	VECTOR("fp5"),
	VECTOR("fp6"),
	VECTOR("fp7"),
	{ "stack", "BLOB", "bytes of the stack", false, ADA_SQL_PLAIN },
	HIDDEN_PROCESS,
	HIDDEN_PID,
	{ "tid", "INTEGER", "the system's number of the thread", true, ADA_SQL_TID },
	{ "function_id", "INTEGER", "the same over all processes", true, ADA_SQL_FUNCTION_ID },
	{ "module", "TEXT", "file name of the function's module", true, ADA_SQL_PLAIN },
	{ "detail_seq", "INTEGER", "as in events", true, ADA_SQL_PLAIN },
	{ "args", "TEXT", "arguments, or the result, as their types say; null: not known", true, ADA_SQL_PLAIN },
	{ "captured", "TEXT", "what arguments pointed at, as in dump's JSON; null: nothing was captured", true, ADA_SQL_PLAIN },
	{ "errno", "TEXT", "name of errno beside a result that says so; null: not captured", true, ADA_SQL_PLAIN },
	NATIVE("rdi", "by the machine's name, of calls; null: the record has none"),
	NATIVE("rsi", "of calls"),
	NATIVE("rdx", "of calls and returns"),
	NATIVE("rcx", "of calls"),
	NATIVE("r8", "of calls"),
	NATIVE("r9", "of calls"),
	NATIVE("rax", "of calls and returns"),
	NATIVE("r10", "of calls"),
	NATIVE("return_address", "of calls and returns"),
	NATIVE("rbp", "of calls and returns"),
	NATIVE("rsp", "of calls and returns"),
	NATIVE("xmm0", "low half, of calls and returns"),
	NATIVE("xmm1", "low half, of calls and returns"),
	NATIVE("xmm2", "low half, of calls"),
	NATIVE("xmm3", "low half, of calls"),
	NATIVE("xmm4", "low half, of calls"),
	NATIVE("xmm5", "low half, of calls"),
	NATIVE("xmm6", "low half, of calls"),
	NATIVE("xmm7", "low half, of calls")
};

/* clang-format off */
#define PROCESS { "process", "TEXT", "directory of the process", false, ADA_SQL_PLAIN }
#define PLAIN_PID { "pid", "INTEGER", "of the process", true, ADA_SQL_PLAIN }
/* clang-format on */
static const struct ada_sql_column windows[] = {
	{ "window", "INTEGER", "number, as in `ada windows`", false, ADA_SQL_PLAIN },
	PROCESS,
	{ "start_ns", "INTEGER", "its first ns", false, ADA_SQL_PLAIN },
	{ "end_ns", "INTEGER", "its last ns; null: still open", false, ADA_SQL_PLAIN },
	{ "duration_ns", "INTEGER", "null: still open", false, ADA_SQL_PLAIN },
	{ "trigger_kind", "TEXT", "of the first mark", false, ADA_SQL_PLAIN },
	{ "trigger_kinds", "TEXT", "of all marks, comma-separated; those with a comma as in CSV", false, ADA_SQL_PLAIN },
	{ "marked_ns", "INTEGER", "the first mark", false, ADA_SQL_PLAIN },
	{ "marks", "INTEGER", "how many", false, ADA_SQL_PLAIN },
	{ "events", "INTEGER", "detail records that it kept", false, ADA_SQL_PLAIN },
	{ "pre_roll_s", "REAL", "seconds saved before the first mark", false, ADA_SQL_PLAIN },
	{ "post_roll_s", "REAL", "behind the last one", false, ADA_SQL_PLAIN },
	{ "requested_pre_roll_s", "REAL", "seconds asked for", false, ADA_SQL_PLAIN },
	{ "requested_post_roll_s", "REAL", "the same", false, ADA_SQL_PLAIN },
	{ "policy", "TEXT", "version and hash of the rules at its first mark", false, ADA_SQL_PLAIN },
	{ "short_reason", "TEXT", "why it has less than was asked for; null: it has all", false, ADA_SQL_PLAIN },
	PLAIN_PID,
};

static const struct ada_sql_column marks[] = {
	{ "window", "INTEGER", "that it belongs to", false, ADA_SQL_PLAIN },
	PROCESS,
	{ "timestamp_ns", "INTEGER", "ns of CLOCK_BOOTTIME", false, ADA_SQL_PLAIN },
	{ "kind", "TEXT", "of the first of its rules", false, ADA_SQL_PLAIN },
	{ "rule", "INTEGER", "its number in the policy", false, ADA_SQL_PLAIN },
	{ "thread", "INTEGER", "null: of no thread", false, ADA_SQL_PLAIN },
	{ "index_seq", "INTEGER", "of the marked event in its thread", false, ADA_SQL_PLAIN },
	{ "function_id", "INTEGER", "of the marked event", false, ADA_SQL_PLAIN },
	{ "function", "TEXT", "its name", false, ADA_SQL_PLAIN },
	{ "value", "REAL", "what the rule compared, in its unit", false, ADA_SQL_PLAIN },
	{ "label", "TEXT", "of the rule, or of `ada mark`", false, ADA_SQL_PLAIN },
	PLAIN_PID,
	{ "key", "INTEGER", "of a rule from one call to another: the argument that was equal", false, ADA_SQL_PLAIN },
	{ "begin_thread", "INTEGER", "of such a rule, the thread of the call that began", false, ADA_SQL_PLAIN },
	{ "begin_index_seq", "INTEGER", "that call in its thread", false, ADA_SQL_PLAIN },
	{ "begin_ns", "INTEGER", "its time", false, ADA_SQL_PLAIN },
};

static const struct ada_sql_column threads[] = {
	PROCESS,
	{ "thread", "INTEGER", "number of the thread in its process", false, ADA_SQL_PLAIN },
	{ "tid", "INTEGER", "the system's number of it", false, ADA_SQL_PLAIN },
	{ "name", "TEXT", "as the program called it", false, ADA_SQL_PLAIN },
	{ "events", "INTEGER", "in its files", false, ADA_SQL_PLAIN },
	{ "lost", "INTEGER", "events that are missing", false, ADA_SQL_PLAIN },
	{ "skipped", "INTEGER", "calls that could not be recorded", false, ADA_SQL_PLAIN },
	{ "first_ns", "INTEGER", "time of its first event", false, ADA_SQL_PLAIN },
	{ "last_ns", "INTEGER", "of its last", false, ADA_SQL_PLAIN },
	PLAIN_PID,
};

static const struct ada_sql_column modules[] = {
	PROCESS,
	{ "module_id", "INTEGER", "number in the process", false, ADA_SQL_PLAIN },
	{ "module", "TEXT", "file name", false, ADA_SQL_PLAIN },
	{ "path", "TEXT", "of the file", false, ADA_SQL_PLAIN },
	{ "build_id", "TEXT", "null: it has none", false, ADA_SQL_PLAIN },
	{ "base", "TEXT", "load bias, hexadecimal", false, ADA_SQL_PLAIN },
	{ "traced", "INTEGER", "1: its functions are recorded, 0: library functions as called from traced modules", false, ADA_SQL_PLAIN },
	{ "functions", "INTEGER", "that it has", false, ADA_SQL_PLAIN },
	{ "hooked", "INTEGER", "of them, those that are recorded", false, ADA_SQL_PLAIN },
	{ "skipped", "INTEGER", "of them, those that are not", false, ADA_SQL_PLAIN },
	{ "imports", "INTEGER", "library functions that it calls", false, ADA_SQL_PLAIN },
	{ "load_ns", "INTEGER", "when it was loaded", false, ADA_SQL_PLAIN },
	{ "unload_ns", "INTEGER", "null: was not", false, ADA_SQL_PLAIN },
	PLAIN_PID,
};

static const struct ada_sql_column losses[] = {
	PROCESS,
	{ "thread", "INTEGER", "null: of the whole process", false, ADA_SQL_PLAIN },
	{ "tid", "INTEGER", "the system's number of it", false, ADA_SQL_PLAIN },
	{ "index_seq", "INTEGER", "of the record of the loss; null: nothing says where it was", false, ADA_SQL_PLAIN },
	{ "timestamp_ns", "INTEGER", "the same", false, ADA_SQL_PLAIN },
	{ "events", "INTEGER", "how many are missing; null: not known", false, ADA_SQL_PLAIN },
	{ "skipped", "INTEGER", "calls that could not be recorded", false, ADA_SQL_PLAIN },
	{ "reason", "TEXT", "null: not known", false, ADA_SQL_PLAIN },
	PLAIN_PID,
};

/* clang-format off */
#define STATISTICS \
	{ "function", "TEXT", "its name, demangled", false, ADA_SQL_PLAIN }, \
	{ "module", "TEXT", "file name of its module", false, ADA_SQL_PLAIN }, \
	{ "calls", "INTEGER", "how many began", false, ADA_SQL_PLAIN }, \
	{ "total_ns", "INTEGER", "sum of durations, recursion once", false, ADA_SQL_PLAIN }, \
	{ "self_ns", "INTEGER", "without the calls directly below", false, ADA_SQL_PLAIN }
/* clang-format on */
#define FROM_TO_THREAD                                                                                                                     \
	ARGUMENT("from_time", "", "only calls that begin at this time or later: ns, or '+1.5s' from the start"),                           \
		ARGUMENT("to_time", "", "and before this one"),                                                                            \
		ARGUMENT("of_thread", "", "only of this thread: number, OS thread id or name")

static const struct ada_sql_column fn_stats[] = {
	STATISTICS,
	{ "min_ns", "INTEGER", "of all calls; null: none has a known end", false, ADA_SQL_PLAIN },
	{ "mean_ns", "INTEGER", "the same", false, ADA_SQL_PLAIN },
	{ "p50_ns", "INTEGER", "percentiles within 1 %", false, ADA_SQL_PLAIN },
	{ "p90_ns", "INTEGER", "the same", false, ADA_SQL_PLAIN },
	{ "p99_ns", "INTEGER", "the same", false, ADA_SQL_PLAIN },
	{ "max_ns", "INTEGER", "as min_ns", false, ADA_SQL_PLAIN },
	FROM_TO_THREAD,
	{ "function_id", "INTEGER", "as in functions", true, ADA_SQL_PLAIN },
	{ "unknown", "INTEGER", "calls without a known end", true, ADA_SQL_PLAIN },
	{ "on_cpu_ns", "INTEGER", "how long the calls of total_ns ran; null: not known of each of them", true, ADA_SQL_PLAIN },
	{ "off_cpu_ns", "INTEGER", "how long they waited, or were ready and did not run; the same", true, ADA_SQL_PLAIN },
};

/* clang-format off */
#define EDGE_COLUMNS \
	{ "function", "TEXT", "the other one; null: no one, they were outermost calls", false, ADA_SQL_PLAIN }, \
	{ "module", "TEXT", "file name of its module", false, ADA_SQL_PLAIN }, \
	{ "calls", "INTEGER", "how often", false, ADA_SQL_PLAIN }, \
	{ "total_ns", "INTEGER", "sum of the called one's durations, recursion once", false, ADA_SQL_PLAIN }, \
	{ "self_ns", "INTEGER", "without the calls directly below", false, ADA_SQL_PLAIN }, \
	{ "first_ns", "INTEGER", "time of the first such call", false, ADA_SQL_PLAIN }, \
	{ "thread", "INTEGER", "where that was", false, ADA_SQL_PLAIN }, \
	{ "index_seq", "INTEGER", "the same", false, ADA_SQL_PLAIN }, \
	{ "of", "TEXT", "the function asked for, for a pattern may mean several", false, ADA_SQL_PLAIN }, \
	ARGUMENT("f", "", "names as `ada dump --function` takes them, or function_id"), \
	FROM_TO_THREAD, \
	{ "function_id", "INTEGER", "of the other one", true, ADA_SQL_PLAIN }, \
	{ "unknown", "INTEGER", "calls without a known end", true, ADA_SQL_PLAIN }, \
	{ "process", "TEXT", "of the first call", true, ADA_SQL_PLAIN }
/* clang-format on */

static const struct ada_sql_column callers[] = { EDGE_COLUMNS };
static const struct ada_sql_column callees[] = { EDGE_COLUMNS };

static const struct ada_sql_column stack_at[] = { { "depth", "INTEGER", "0: outermost", false, ADA_SQL_PLAIN },
						  { "function", "TEXT", "its name, demangled", false, ADA_SQL_PLAIN },
						  { "module", "TEXT", "file name of its module", false, ADA_SQL_PLAIN },
						  { "start_ns", "INTEGER", "when the call began", false, ADA_SQL_PLAIN },
						  { "index_seq", "INTEGER", "of the event that began it", false, ADA_SQL_PLAIN },
						  ARGUMENT("of_thread", "INTEGER", "number of the thread"),
						  ARGUMENT("of_index_seq", "INTEGER", "number of the event in it"),
						  HIDDEN_PROCESS,
						  HIDDEN_PID,
						  { "function_id", "INTEGER", "as in functions", true, ADA_SQL_PLAIN } };

static const struct ada_sql_column switches[] = {
	{ "timestamp_ns", "INTEGER", "ns of CLOCK_BOOTTIME", false, ADA_SQL_TIME },
	{ "tid", "INTEGER", "the system's number of the thread; null: of none", false, ADA_SQL_PLAIN },
	{ "kind", "TEXT",
	  "off (it waits), preempted (it is ready), on, fault, lost (records of this CPU are missing before), paused (none were made behind this)",
	  false, ADA_SQL_PLAIN },
	{ "cpu", "INTEGER", "where", false, ADA_SQL_PLAIN },
	{ "other_tid", "INTEGER", "of a preemption: who got the CPU; null: none of the session's threads, or not known", false,
	  ADA_SQL_PLAIN },
	{ "count", "INTEGER", "of faults within a millisecond, or of missing records: how many", false, ADA_SQL_PLAIN },
	{ "pid", "INTEGER", "the system's number of its process", true, ADA_SQL_PLAIN },
};

static const struct ada_sql_column waits[] = {
	THREAD,
	{ "index_seq", "INTEGER", "of the event that began it", false, ADA_SQL_PLAIN },
	{ "end_index_seq", "INTEGER", "of the event that ended it; null: it goes on", false, ADA_SQL_PLAIN },
	{ "start_ns", "INTEGER", "ns of CLOCK_BOOTTIME", false, ADA_SQL_TIME },
	{ "end_ns", "INTEGER", "of one that goes on: of the process's end, or now", false, ADA_SQL_PLAIN },
	{ "kind", "TEXT", "lock, condition, sleep, io, child or message", false, ADA_SQL_PLAIN },
	{ "object", "TEXT", "address of what it waited for, or the descriptor; null: not known", false, ADA_SQL_PLAIN },
	{ "ended_by_thread", "INTEGER", "who gave it back, signalled, posted, arrived or ended; null: not known", false, ADA_SQL_PLAIN },
	{ "ended_by_index_seq", "INTEGER", "of the event by which it did", false, ADA_SQL_PLAIN },
	HIDDEN_PROCESS,
	HIDDEN_PID,
	{ "tid", "INTEGER", "the system's number of the thread", true, ADA_SQL_TID },
	{ "function", "TEXT", "that waited", true, ADA_SQL_PLAIN },
	{ "joined_thread", "INTEGER", "of a join, also while it goes on: whose end it waits for; null: not known", true, ADA_SQL_PLAIN },
};

static const struct ada_sql_column causes[] = {
	{ "window", "INTEGER", "of the mark; null: a call was asked for", false, ADA_SQL_PLAIN },
	{ "thread", "INTEGER", "number of the thread in its process", false, ADA_SQL_PLAIN },
	{ "index_seq", "INTEGER", "of the event that began the call", false, ADA_SQL_PLAIN },
	{ "function", "TEXT", "that was called", false, ADA_SQL_PLAIN },
	{ "duration_ns", "INTEGER", "of the call, with what ada took; of an open one to the process's end, or until now", false,
	  ADA_SQL_PLAIN },
	{ "kind", "TEXT",
	  "lock, deadlock, condition, sleep, io, child, message, cpu, preempted, runqueue, steal, throttled, fault, recorder or unknown",
	  false, ADA_SQL_PLAIN },
	{ "function_waited", "TEXT", "where most of its time went: the innermost call that waited or ran", false, ADA_SQL_PLAIN },
	{ "object", "TEXT", "address of what it waited for, or the descriptor; null: not known", false, ADA_SQL_PLAIN },
	{ "culprit_thread", "INTEGER", "who held the object or ended the wait, at the chain's end; null: not known", false, ADA_SQL_PLAIN },
	{ "culprit_function", "TEXT", "its innermost function that is no library's", false, ADA_SQL_PLAIN },
	{ "culprit_path", "TEXT", "what it did meanwhile, outermost call first", false, ADA_SQL_PLAIN },
	{ "culprit_calls", "TEXT", "the same with arguments, where their values were recorded: compact(round=9) > usleep(useconds=50000)",
	  false, ADA_SQL_PLAIN },
	{ "culprit_start_ns", "INTEGER", "when it took the object, or the wait began", false, ADA_SQL_PLAIN },
	{ "culprit_end_ns", "INTEGER", "when it gave the object back, or ended the wait", false, ADA_SQL_PLAIN },
	{ "culprit_kind", "TEXT", "what most of its time went to meanwhile, as kind; null: not one thing, or not known", false,
	  ADA_SQL_PLAIN },
	{ "rival_thread", "INTEGER", "who had the processor that the culprit lacked; null: it lacked none, or not known", false,
	  ADA_SQL_PLAIN },
	{ "rival_path", "TEXT", "the calls that were open there then", false, ADA_SQL_PLAIN },
	{ "share", "REAL", "of the call's duration, that this explains", false, ADA_SQL_PLAIN },
	ARGUMENT("of_thread", "INTEGER", "number of a thread; all marks if not given"),
	ARGUMENT("of_index_seq", "INTEGER", "number of an event that begins or ends the call"),
	HIDDEN_PROCESS,
	HIDDEN_PID,
	{ "wait_index_seq", "INTEGER", "of the event that began the longest such wait", true, ADA_SQL_PLAIN },
	{ "spells", "INTEGER", "how many such waits, or parts, there were", true, ADA_SQL_PLAIN },
	{ "opened", "TEXT", "of a descriptor the path that was opened as it; null: not known", true, ADA_SQL_PLAIN },
	{ "peer", "TEXT", "of a socket the address that it was connected to; null: not known", true, ADA_SQL_PLAIN },
	{ "noted", "TEXT", "what the descriptor led to as the recorder found it at a mark; null: its own calls say so, or not known", true,
	  ADA_SQL_PLAIN },
	{ "noted_ns", "INTEGER", "when that was; opened and peer are of then, too", true, ADA_SQL_PLAIN },
	{ "child_pid", "INTEGER", "of the child that it waited for; null: not recorded", true, ADA_SQL_PLAIN },
	{ "command", "TEXT", "that system or popen ran for it in a shell; null: none, or not known", true, ADA_SQL_PLAIN },
};

static const struct ada_sql_column anchors[] = {
	{ "clock", "TEXT", "name of the other clock", false, ADA_SQL_PLAIN },
	{ "host_ns", "INTEGER", "ns of CLOCK_BOOTTIME", false, ADA_SQL_PLAIN },
	{ "media_ns", "INTEGER", "the same moment on that clock", false, ADA_SQL_PLAIN },
};

static const struct ada_sql_column mutes[] = {
	FUNCTION_ID,
	FUNCTION,
	{ "from_ns", "INTEGER", "ns of CLOCK_BOOTTIME", false, ADA_SQL_PLAIN },
	{ "to_ns", "INTEGER", "the same; null: until the end of its process", false, ADA_SQL_PLAIN },
	{ "calls_a_second", "REAL", "that it had made until then", false, ADA_SQL_PLAIN },
	{ "left_out", "TEXT", "all: its calls; uncontended: of a mutex's function those that had nobody to wait for", false,
	  ADA_SQL_PLAIN },
	HIDDEN_PROCESS,
	HIDDEN_PID,
};

const struct ada_sql_table ada_sql_tables[] = {
	{ "events", "every event, thread by thread, each in the order of time", COLUMNS(events), false },
	{ "calls", "every call: its beginning paired with its end, in the order of ends", COLUMNS(calls), false },
	{ "functions", "all functions of the modules, also those never called", COLUMNS(functions), false },
	{ "detail", "registers and stack of the events in windows", COLUMNS(detail), false },
	{ "windows", "stretches of time that kept their detail", COLUMNS(windows), false },
	{ "marks", "what made windows: the first 1,000 of each", COLUMNS(marks), false },
	{ "threads", "of all processes", COLUMNS(threads), false },
	{ "modules", "programs and libraries, as each process loaded them", COLUMNS(modules), false },
	{ "anchors", "moments on two clocks, of `ada anchor`", COLUMNS(anchors), false },
	{ "losses", "what is missing, and why", COLUMNS(losses), false },
	{ "switches", "when threads ran and when not, and their page faults", COLUMNS(switches), false },
	{ "mutes", "when which functions were left out (--budget)", COLUMNS(mutes), false },
	{ "waits", "calls that waited for at least 1 us, and who ended the wait", COLUMNS(waits), false },
	{ "causes", "why calls took long, of all marks or of one call: causes(of_thread, of_index_seq)", COLUMNS(causes), true },
	{ "fn_stats", "calls and times per function, as `ada report`: fn_stats(from_time, to_time, of_thread)", COLUMNS(fn_stats), true },
	{ "callers", "who calls a function: callers(f, from_time, to_time, of_thread)", COLUMNS(callers), true },
	{ "callees", "what a function calls: callees(f, from_time, to_time, of_thread)", COLUMNS(callees), true },
	{ "around", "events around one of a thread: around(of_thread, of_index_seq, n)", COLUMNS(around), true },
	{ "stack_at", "calls open right before an event: stack_at(of_thread, of_index_seq)", COLUMNS(stack_at), true },
};
const size_t ada_sql_table_count = sizeof ada_sql_tables / sizeof *ada_sql_tables;

const struct ada_sql_table *ada_sql_table_find(const char *name)
{
	for (size_t i = 0; i < ada_sql_table_count; i++)
		if (!strcasecmp(ada_sql_tables[i].name, name))
			return &ada_sql_tables[i];
	return NULL;
}
