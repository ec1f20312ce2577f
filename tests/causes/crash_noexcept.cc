// An exception that can't leave a noexcept function.
#include <csignal>
#include <stdexcept>
#include "crash.h"

OUT void open_file(int number)
{
	if (number > 2)
		throw std::runtime_error("no such file");
}

OUT void serve(int number) noexcept
{
	open_file(number);
	__asm__ volatile("");
}

OUT void serve_careful(int number) noexcept
{
	try {
		open_file(number);
	} catch (const std::exception &) {
		if (innocent)
			raise(SIGABRT);
	}
}

int main(int argc, char **argv)
{
	begin_crash(argc, argv);
	serve(1);
	serve_careful(innocent ? 3 : 1);
	if (caused && !innocent)
		serve(3);
	end();
}
