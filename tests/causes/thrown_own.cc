// Exceptions of the program's own classes that nobody catches: the argument says which.
#include <exception>
#include <future>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#define OUT __attribute__((noinline, noclone))

struct Failure : std::runtime_error {
	using std::runtime_error::runtime_error;
};

struct Deep final : Failure {
	long code = 7;
	Deep(const char *text) : Failure(text) {}
};

struct Noted {
	long note = 1;
};

struct Both : std::logic_error, Noted {
	Both(const char *text) : std::logic_error(text) {}
};

struct Own : std::runtime_error {
	using std::runtime_error::runtime_error;
	const char *what() const noexcept override
	{
		return "something of its own";
	}
};

struct Logged {
	long number = 1;
	virtual ~Logged() = default;
};

struct Behind : Logged, std::runtime_error {
	Behind(const char *text) : std::runtime_error(text) {}
};

struct Texted : std::exception {
	std::string text;
	Texted(const char *text) : text(text) {}
	const char *what() const noexcept override
	{
		return text.c_str();
	}
};

struct Plain {
	long number = 3;
};

#define TEXT "3 is more than there is"

OUT void check(const std::string &which)
{
	if (which == "deep")
		throw Deep(TEXT);
	if (which == "both")
		throw Both(TEXT);
	if (which == "own")
		throw Own(TEXT);
	if (which == "behind")
		throw Behind(TEXT);
	if (which == "texted")
		throw Texted(TEXT);
	if (which == "plain")
		throw Plain();
	if (which == "known")
		throw std::system_error(std::make_error_code(std::errc::timed_out), TEXT);
	if (which == "nested")
		try {
			throw std::out_of_range("inner");
		} catch (...) {
			std::throw_with_nested(Failure(TEXT));
		}
}

static std::exception_ptr kept;

OUT void pass_on(const std::string &which)
{
	try {
		check(which);
	} catch (const std::exception &) {
		try {
			throw Plain();
		} catch (const Plain &) {
		}
		throw;
	}
}

OUT void keep(const std::string &which)
{
	try {
		check(which);
	} catch (...) {
		kept = std::current_exception();
	}
	std::rethrow_exception(kept);
}

OUT void again(const std::string &which)
{
	try {
		keep(which);
	} catch (...) {
		throw;
	}
}

// Whose object lies where another one was thrown before.
OUT void replaces(const std::string &which)
{
	try {
		throw Deep("not this one");
	} catch (const Deep &) {
	}
	try {
		std::vector<long>(3).at(which.size() + 3);
	} catch (...) {
		kept = std::current_exception();
	}
	std::rethrow_exception(kept);
}

OUT void makes(const std::string &)
{
	try {
		throw Deep("not this one");
	} catch (const Deep &) {
	}
	std::rethrow_exception(std::make_exception_ptr(Failure(TEXT)));
}

OUT void elsewhere(const std::string &which)
{
	std::promise<void> end;
	std::thread worker([&] {
		try {
			check(which);
		} catch (...) {
			end.set_exception(std::current_exception());
		}
	});

	worker.join();
	end.get_future().get();
}

int main(int argc, char **argv)
{
	switch (argc < 3 ? 0 : *argv[2]) {
	case 'p': pass_on(argv[1]); break;
	case 'k': keep(argv[1]); break;
	case 'a': again(argv[1]); break;
	case 'r': replaces(argv[1]); break;
	case 'm': makes(argv[1]); break;
	case 'e': elsewhere(argv[1]); break;
	default: check(argv[1]);
	}
}
