/* Rules that make no sense: the exact line that is said of each. Characters count from 1. */
#include "rules.h"

#define UNITS "(ns, us, ms, s, min, h)"

static void kinds(void **state)
{
	refused("", "at character 1: a kind is missing: write a rule like symbol=malloc");
	refused("   ", "at character 4: a kind is missing: write a rule like symbol=malloc");
	refused("=malloc", "at character 1: a kind is missing: write a rule like symbol=malloc");
	refused("sybmol=malloc", "at character 1: unknown kind \"sybmol\": did you mean symbol");
	refused(" new-calller=f", "at character 2: unknown kind \"new-calller\": did you mean new-caller");
	refused("malloc", "at character 1: unknown kind \"malloc\": a function is named with symbol=malloc");
	refused("symbol:hold", "at character 1: unknown kind \"symbol:hold\": did you mean symbol=hold");
	refused("symbol:hold@pre=1s", "at character 1: unknown kind \"symbol:hold\": did you mean symbol=hold");
	refused("latency:ns::hold>5ms", "at character 1: unknown kind \"latency:ns::hold\": did you mean latency=ns::hold");
	refused("pre=5s", "at character 1: unknown kind \"pre\" (symbol, return, arg, latency, p99, rate, depth, new-caller, cpu, memory, "
			  "time, crash, signal, exit, exception, manual)");
	refused("p100=F>1us", "at character 1: p100 is out of range: p50 to p99.9");
	refused("p49.9=F>1us", "at character 1: p49.9 is out of range: p50 to p99.9");
	refused("p99.95=F>1us", "at character 1: p99.95 is out of range: p50 to p99.9");
	refused("symbol=a\tb", "at character 9: a control character");
}

static void shapes(void **state)
{
	refused("symbol", "at character 7: more is missing: write it like symbol=malloc,free");
	refused("symbol>5", "at character 7: \">5\" isn't expected: write it like symbol=malloc,free");
	refused("latency>50ms", "at character 8: \">50ms\" isn't expected: write it like latency=function:F>50ms");
	refused("crash=foo", "at character 6: crash takes no =: write it like crash");
	refused("crash now", "at character 7: \"now\" isn't expected: write it like crash");
	refused("exit>5", "at character 5: \">5\" isn't expected: write it like exit");
	refused("memory=2G", "at character 7: memory takes no =: write it like memory>90%");
	refused("exception=", "at character 11: a type is missing: write it like exception=std::bad_alloc");
	refused("signal", "at character 7: more is missing: write it like signal=SIGSEGV,SIGABRT");
	refused("time", "at character 5: more is missing: write it like time=10:30-10:45");
}

static void comparisons(void **state)
{
	refused("return=open", "at character 12: a comparison is missing: write it like return=open<0");
	refused("return=malloc=0", "at character 14: write == to compare");
	refused("latency=F=50ms", "at character 15: a comparison is missing: write it like latency=function:F>50ms");
	refused("latency=F==50ms", "at character 10: latency takes no ==, but >, >=, < and <=");
	refused("p99=F<50ms", "at character 6: p99 takes no <, but > and >=");
	refused("rate=F!=5/s", "at character 7: rate takes no !=, but > and >=");
	refused("depth", "at character 6: a comparison is missing: write it like depth>200");
	refused("depth<5", "at character 6: depth takes no <, but > and >=");
	refused("depth=5", "at character 8: a comparison is missing: write it like depth>200");
	refused("cpu==5", "at character 4: cpu takes no ==, but > and >=");
	refused("symbol=open<0", "at character 12: no comparison is taken here; a name that holds < is written in quotes");
	refused("symbol=a,b>5ms", "at character 11: no comparison is taken here; a name that holds > is written in quotes");
	refused("latency=f>>20ms", "at character 10: this begins no comparison; a name that holds > is written in quotes");
	refused("latency=f=>20ms", "at character 10: this begins no comparison; a name that holds = is written in quotes");
	refused("latency=f<>20ms", "at character 10: this begins no comparison; a name that holds < is written in quotes");
	refused("latency=f>>=20ms", "at character 10: this begins no comparison; a name that holds > is written in quotes");
	refused("latency=f>==20ms", "at character 12: \"=20ms\" is no number");
	refused("return=f!=>3", "at character 9: this begins no comparison; a name that holds ! is written in quotes");
	refused("return=f,g >>3", "at character 12: this begins no comparison; a name that holds > is written in quotes");
	refused("return=f<int>>>3", "at character 14: this begins no comparison; a name that holds > is written in quotes");
	refused("latency=a:1..b=:1>1ms", "at character 15: this begins no comparison; a name that holds = is written in quotes");
}

static void names(void **state)
{
	refused("symbol=", "at character 8: a name is missing");
	refused("symbol=a,,b", "at character 10: a name is missing");
	refused("symbol=a,", "at character 10: a name is missing");
	refused("return=<0", "at character 8: a name is missing");
	refused("symbol=''", "at character 8: a name is missing between the quotes");
	refused("symbol='a", "at character 8: the quote ' isn't closed");
	refused("symbol='a'b", "at character 11: a comma is missing before \"b\"");
	refused("symbol=re:", "at character 11: a regex is missing");
	refused("symbol=re://", "at character 11: a regex is missing");
	refused("symbol=re:/a", "at character 11: the regex isn't closed: its second / is missing");
	refused("symbol=re:/a/b", "at character 14: a comma is missing before \"b\"");
	refused("symbol=re:a[", "at character 13: missing terminating ] for character class");
	refused("symbol=\xc3\xa4,re:/\xc3\xa4(/", "at character 16: missing closing parenthesis");
	refused("arg=ns::f>1", "at character 10: which argument? write it like arg=read:3>1048576");
	refused("latency=a:1..b>1ms", "at character 15: which argument? write it like latency=submit:1..complete:1>50ms");
	refused("latency=a:7..b:1>1ms", "at character 11: 7 is out of range: 1 to 6");
	refused("latency=a:1..b:1", "at character 17: a comparison is missing: write it like latency=function:F>50ms");
	refused("latency=:1..b:1>1ms", "at character 9: a name is missing");
	refused("latency=a>1ms@long", "at character 14: a type is for latency=submit:1..complete:1>50ms, which compares arguments");
	refused("latency=a:1..b:1>1ms@double", "at character 22: latency takes no option \"double\"");
	refused("arg=f:0>1", "at character 7: 0 is out of range: 1 to 6");
	refused("arg=f:7>1", "at character 7: 7 is out of range: 1 to 6");
	refused("arg=:1>1", "at character 5: a name is missing");
}

static void numbers(void **state)
{
	refused("return=f<", "at character 10: a number is missing");
	refused("return=f<x", "at character 10: \"x\" is no number");
	refused("return=f<5x", "at character 11: unknown unit \"x\" (K, M, G, T)");
	refused("return=f<99999999999999999999", "at character 10: \"99999999999999999999\" is too large: 64 bits");
	refused("return=f<-9223372036854775809", "at character 10: \"-9223372036854775809\" is too large: 64 bits");
	refused("return=f<0x", "at character 11: unknown unit \"x\" (K, M, G, T)");
	refused("return=f<20000000T", "at character 10: \"20000000T\" is too large: 64 bits");
	refused("return=f<1.5@int", "at character 10: \"1.5\" is no integer, but the rule gives an integer's type");
	refused("return=f<1.5.5", "at character 10: \"1.5.5\" is no number");
	refused("arg=f:1>0.5", "at character 9: arguments are compared as integers");
	refused("rate=F>0/s", "at character 8: 0 is out of range: 1 to 1000000000");
	refused("rate=F>5", "at character 9: in what time? write it like 5/s " UNITS);
	refused("rate=F>5/d", "at character 10: unknown unit \"d\" " UNITS);
	refused("rate=F>5/0s", "at character 10: 0s is too short");
	refused("rate=F>1.5/s", "at character 9: \"1.5\" is no whole number");
	refused("depth>0", "at character 7: 0 is out of range: 1 to 1000000");
	refused("depth>-1", "at character 7: a negative value makes no sense here");
	refused("depth>", "at character 7: a number is missing");
	refused("cpu>90", "at character 7: a unit is missing (%)");
	refused("cpu>0%", "at character 5: 0% is out of range: above 0%, at most 102400%");
	refused("memory>101%", "at character 8: 101% is out of range: above 0%, at most 100%");
	refused("memory>0G", "at character 8: 0G is too small");
	refused("memory>5", "at character 9: a unit is missing (B, K, M, G, T or %)");
	refused("memory>9000000T", "at character 8: \"9000000T\" is too large");
}

static void durations(void **state)
{
	refused("latency=function:F>50mx", "at character 22: unknown unit \"mx\" " UNITS);
	refused("latency=F>50", "at character 13: a unit is missing " UNITS);
	refused("latency=F>ms", "at character 11: \"ms\" is no number");
	refused("latency=F>", "at character 11: a number is missing");
	refused("latency=F>0ms", "at character 11: 0ms is too short");
	refused("latency=F>0.1ns", "at character 11: 0.1ns is too short");
	refused("latency=F>-5ms", "at character 11: a negative value makes no sense here");
	refused("latency=F>25h", "at character 11: 25h is too long: at most 24h");
	refused("latency=F>99999999999999999999s", "at character 11: \"99999999999999999999s\" is too large");
	refused("cpu=F>90%", "at character 9: unknown unit \"%\" " UNITS);
}

static void times(void **state)
{
	refused("time=10:30", "at character 11: until when? write it like 10:30-10:45");
	refused("time=10:30-", "at character 12: \"\" is no time: write it like 10:30");
	refused("time=9:30-10:45", "at character 6: \"9:30\" is no time: write it like 10:30");
	refused("time=25:00-26:00", "at character 6: 25:00 is no time of day");
	refused("time=10:00-10:60", "at character 15: 10:60 is no time of day");
	refused("time=24:00-10:00", "at character 6: 24:00 is no time of day");
	refused("time=10:30-10:30", "at character 12: the time ends where it begins");
	refused("time=10:30:00-10:45:00", "at character 11: times are given to the minute: HH:MM");
}

static void signals(void **state)
{
	refused("signal=", "at character 8: a signal is missing");
	refused("signal=SIGSEG", "at character 8: unknown signal \"SIGSEG\": did you mean SIGSEGV");
	refused("signal=usr1,abt", "at character 13: unknown signal \"abt\": did you mean ABRT");
	refused("signal=0", "at character 8: 0 is out of range: 1 to 64");
	refused("signal=65", "at character 8: 65 is out of range: 1 to 64");
	refused("signal=33", "at character 8: signal 33 is libc's own");
	refused("signal=9", "at character 8: 9 can't be seen when it is delivered: exit marks the end that it makes");
	refused("signal=SIGSTOP", "at character 8: SIGSTOP can't be seen when it is delivered");
	refused("signal=SIGRTMIN+31", "at character 17: 31 is out of range: 0 to 30");
	refused("signal=SIGRTMIN-1", "at character 16: write it like SIGRTMIN+1");
}

static void options(void **state)
{
	refused("symbol=a@", "at character 10: an option is missing");
	refused("symbol=a@every=2,", "at character 18: an option is missing");
	refused("symbol=a@nocsae", "at character 10: unknown option \"nocsae\": did you mean nocase");
	refused("symbol=memcpy@GLIBC_2.14", "at character 15: unknown option \"GLIBC_2.14\" (a name that holds @ is written in quotes)");
	refused("symbol=a@pre", "at character 13: a value is missing: write it like pre=5s");
	refused("symbol=a@nocase=3", "at character 16: nocase takes no value");
	refused("symbol=a@pre=25h", "at character 14: 25h is too long: at most 24h");
	refused("symbol=a@pre=-1s", "at character 14: a negative value makes no sense here");
	refused("symbol=a@pre=5", "at character 15: a unit is missing " UNITS);
	refused("symbol=a@pre=1000000000ev", "at character 14: 1000000000 is out of range: 0 to 100000000");
	refused("symbol=a@post=1s|2s", "at character 18: a time is given twice");
	refused("symbol=a@post=1ev|2ev", "at character 19: events are given twice");
	refused("symbol=a@limit=0/min", "at character 16: 0 is out of range: 1 to 1000000000");
	refused("symbol=a@limit=5", "at character 17: in what time? write it like 5/s " UNITS);
	refused("symbol=a@every=0", "at character 16: 0 is out of range: 1 to 9223372036854775807");
	refused("symbol=a@after=0", "at character 16: 0 is out of range: 1 to 9223372036854775807");
	refused("symbol=a@every=2,every=3", "at character 18: the option is given twice");
	refused("symbol=a@label=", "at character 16: a text is missing");
	refused("symbol=a@label='x", "at character 16: the quote ' isn't closed");
	refused("symbol=a@label='x'y", "at character 19: a comma is missing");
	refused("return=f<5@int@long", "at character 16: a second type");
	refused("return=f<5@int=3", "at character 15: int takes no value");
	refused("p99=F>1us@over=65537", "at character 16: 65537 is out of range: 2 to 65536");
	refused("p99.9=F>50ms@over=100", "at character 13: 100 calls are too few for this percentile: at least over=1000");
}

/* Options that make no sense for a kind. */
static void misplaced_options(void **state)
{
	refused("symbol=a@over=5", "at character 10: symbol takes no option \"over\"");
	refused("symbol=a@int", "at character 10: symbol takes no option \"int\"");
	refused("arg=f:1>0@double", "at character 11: arg takes no option \"double\"");
	refused("crash@every=10", "at character 7: crash takes no option \"every\"");
	refused("exit@limit=1/s", "at character 6: exit takes no option \"limit\"");
	refused("manual@nocase", "at character 8: manual takes no option \"nocase\"");
	refused("time=10:30-10:45@after=5", "at character 18: time takes no option \"after\"");
	refused("memory>90%@nocase", "at character 12: memory takes no option \"nocase\"");
	refused("signal=SIGSEGV@nocase", "at character 16: signal takes no option \"nocase\"");
	refused("exception=X@nocase", "at character 13: exception takes no option \"nocase\"");
	refused("cpu>90%@nocase", "at character 9: cpu takes no option \"nocase\"");
	refused("depth>5@nocase", "at character 9: depth takes no option \"nocase\"");
}

/* What is too long is refused, and no message grows past its line. */
static void too_long(void **state)
{
	char text[6000], message[200];

	memset(text, 'a', sizeof text);
	memcpy(text, "symbol=", 7);
	text[5000] = '\0';
	refused(text, "at character 4097: the rule is too long: at most 4096 bytes");
	memcpy(text, "exception=", 10);
	text[10 + 136] = '\0';
	refused(text, "at character 11: the type's name is too long: at most 135 bytes");
	memset(text, 'x', 100);
	text[100] = '\0';
	snprintf(message, sizeof message, "at character 1: unknown kind \"%.40s\": a function is named with symbol=%.40s", text, text);
	refused(text, message);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kinds),       cmocka_unit_test(shapes),  cmocka_unit_test(comparisons),       cmocka_unit_test(names),
		cmocka_unit_test(comparisons), cmocka_unit_test(numbers), cmocka_unit_test(durations),	       cmocka_unit_test(times),
		cmocka_unit_test(signals),     cmocka_unit_test(options), cmocka_unit_test(misplaced_options), cmocka_unit_test(too_long)
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
