// Exceptions of the program's own classes that nobody catches: the argument says which.
#include <exception>
#include <stdexcept>
#include <string>
#include <system_error>

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

int main(int argc, char **argv)
{
	void (*const how)(const std::string &) = argc < 3 ? check : *argv[2] == 'p' ? pass_on : keep;

	how(argv[1]);
}
