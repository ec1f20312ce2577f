/* x87 stack and control word, MXCSR rounding, and flags are the program's across calls, also the very first one.
 *
 * libs: -lm
 * expect: x87 kept, control kept, mxcsr kept
 * expect: upward 3, downward 2
 */
#include <fenv.h>
#include <math.h>
#include <stdint.h>
#include "check.h"

NOINLINE static int leaf(int n)
{
	BARRIER;
	return n;
}
NOINLINE static long double deep(int depth, long double value)
{
	long double result = depth ? deep(depth - 1, value * 1.5L) : value;

	BARRIER;
	return result - 1.0L;
}

int main(void)
{
	uint16_t control, control_after;
	uint32_t mxcsr, mxcsr_after;
	long double top;

	fesetround(FE_UPWARD);
	int upward = lrint(2.25);
	leaf(1);
	CHECK(lrint(2.25) == upward);
	fesetround(FE_DOWNWARD);
	__asm__ volatile("fnstcw %0; stmxcsr %1" : "=m"(control), "=m"(mxcsr));
	int good = 1;
	for (int i = 0; i < 1000; i++) {
		__asm__ volatile("fldpi; sub $128, %%rsp; call *%1; add $128, %%rsp; fstpt %0"
				 : "=m"(top)
				 : "r"(leaf), "D"(i)
				 : "rax", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory", "cc");
		good &= top > 3.14159265L && top < 3.14159266L;
		deep(5, i);
	}
	__asm__ volatile("fnstcw %0; stmxcsr %1" : "=m"(control_after), "=m"(mxcsr_after));
	printf("x87 %s, control %s, mxcsr %s\n", good ? "kept" : "changed", control == control_after ? "kept" : "changed",
	       (mxcsr & 0xffc0) == (mxcsr_after & 0xffc0) ? "kept" : "changed");
	printf("upward %d, downward %ld\n", upward, lrint(2.75));
	return 0;
}
