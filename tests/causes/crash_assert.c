/* An assertion that doesn't hold. */
#include <assert.h>
#include "crash.h"

OUT void apply(int balance)
{
	assert(balance >= 0 && "no debts");
}

int main(int argc, char **argv)
{
	begin_crash(argc, argv);
	apply(1);
	if (innocent)
		abort();
	apply(caused ? -1 : 2);
	end();
}
