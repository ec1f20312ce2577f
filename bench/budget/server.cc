/* `server serve SOCKET`: a store of words, asked over a Unix socket, a line a question; one thread, as much of the standard library as such
 * a server uses. `server ask SOCKET AMOUNT`: so many units of 500 questions, of which 8 are under way at a time, a line a unit. */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <unordered_map>
#include <vector>

namespace
{
struct Value {
	virtual ~Value() = default;
	virtual std::string text() const = 0;
};

struct Words : Value {
	std::vector<std::string> words;

	std::string text() const override
	{
		std::string joined;

		for (const std::string &word : words)
			joined += (joined.empty() ? "" : " ") + word;
		return joined;
	}
};

class Store
{
    public:
	std::string answer(std::string_view question)
	{
		std::vector<std::string> words = split(question);

		if (words.size() > 2 && words[0] == "add")
			return add(words);
		if (words.size() == 2 && words[0] == "get")
			return get(words[1]);
		if (words.size() == 2 && words[0] == "below")
			return below(words[1]);
		return "what";
	}

    private:
	std::unordered_map<std::string, std::unique_ptr<Value>> values;
	std::map<std::string, int> order;

	static std::vector<std::string> split(std::string_view text)
	{
		std::vector<std::string> words;

		while (!text.empty()) {
			std::string_view word = text.substr(0, text.find(' '));

			words.emplace_back(word);
			text.remove_prefix(std::min(word.size() + 1, text.size()));
		}
		return words;
	}

	std::string add(const std::vector<std::string> &words)
	{
		auto value = std::make_unique<Words>();

		value->words.assign(words.begin() + 2, words.end());
		std::sort(value->words.begin(), value->words.end());
		values[words[1]] = std::move(value);
		order[words[1]]++;
		return "ok";
	}

	std::string get(const std::string &key)
	{
		auto found = values.find(key);

		return found == values.end() ? "none" : found->second->text();
	}

	std::string below(const std::string &key)
	{
		auto found = order.lower_bound(key);
		int count = 0, sum = 0;

		for (; found != order.end() && count < 20; ++found, ++count)
			sum += found->second;
		return std::to_string(count) + " " + std::to_string(sum);
	}
};
}

static int open_socket(const char *path, bool serves)
{
	sockaddr_un address = {};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	address.sun_family = AF_UNIX;
	strncpy(address.sun_path, path, sizeof address.sun_path - 1);
	if (serves)
		return bind(fd, reinterpret_cast<sockaddr *>(&address), sizeof address) || listen(fd, 1) ? -1 : accept(fd, nullptr, nullptr);
	return connect(fd, reinterpret_cast<sockaddr *>(&address), sizeof address) ? -1 : fd;
}

static int serve(const char *path)
{
	int fd = open_socket(path, true);
	std::string input;
	char bytes[4096];
	ssize_t got;
	Store store;

	while ((got = read(fd, bytes, sizeof bytes)) > 0) {
		std::string output;
		size_t end;

		input.append(bytes, static_cast<size_t>(got));
		while ((end = input.find('\n')) != std::string::npos) {
			output += store.answer(std::string_view(input).substr(0, end)) + "\n";
			input.erase(0, end + 1);
		}
		if (write(fd, output.data(), output.size()) < 0)
			return 1;
	}
	return 0;
}

static int ask(const char *path, long amount)
{
	static const char *const forms[] = { "add k%u one two three four five six %u\n", "get k%u\n", "below k%u\n", "get k%u\n" };
	int fd = open_socket(path, false);
	unsigned number = 1, under_way = 0;
	char text[256], bytes[4096];

	for (long unit = 0; unit < amount; unit++) {
		for (unsigned asked = 0, answered = 0; answered < 500;) {
			ssize_t got;

			for (; asked < 500 && under_way < 8; asked++, under_way++) {
				int length;

				number = number * 1103515245 + 12345;
				length = snprintf(text, sizeof text, forms[number >> 10 & 3], number >> 16 & 1023, number);
				if (write(fd, text, static_cast<size_t>(length)) != length)
					return 1;
			}
			got = read(fd, bytes, sizeof bytes);
			if (got <= 0)
				return 1;
			got = std::count(bytes, bytes + got, '\n');
			answered += static_cast<unsigned>(got);
			under_way -= static_cast<unsigned>(got);
		}
		puts("");
		fflush(stdout);
	}
	return 0;
}

int main(int count, char **arguments)
{
	if (count > 3 && !strcmp(arguments[1], "ask"))
		return ask(arguments[2], atol(arguments[3]));
	return count > 2 ? serve(arguments[2]) : 2;
}
