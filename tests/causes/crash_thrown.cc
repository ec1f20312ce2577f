// An exception that nobody catches.
#include <stdexcept>
#include "crash.h"

OUT void check(int amount)
{
	if (amount > 2)
		throw std::out_of_range("3 is more than there is");
}

OUT void process(int amount)
{
	check(amount);
	__asm__ volatile("");
}

static void *catcher(void *unused)
{
	try {
		check(4);
	} catch (const std::exception &) {
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	begin_crash(argc, argv);
	pthread_create(&thread, nullptr, catcher, nullptr);
	pthread_join(thread, nullptr);
	process(1);
	if (innocent) {
		catcher(nullptr);
		abort();
	}
	if (caused)
		process(3);
	end();
}
