/* A program of a few thousand functions, most of them the standard library's templates: exceptions, virtual calls, switch
 * tables, C++17. Compiled at every level by test_coverage.py. */
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <numeric>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <unordered_map>
#include <variant>
#include <vector>

struct shape {
	virtual ~shape() = default;
	virtual double area() const = 0;
	virtual const char *name() const
	{
		return "shape";
	}
};

template <int N> struct polygon : shape {
	double side = N;
	double area() const override
	{
		return N * side;
	}
	const char *name() const override
	{
		return N % 2 ? "odd" : "even";
	}
};

template <int N> __attribute__((noinline)) int step(int x)
{
	switch ((x + N) % 11) {
	case 0: return x + N;
	case 1: return x * N;
	case 2: return x - N;
	case 3: throw std::runtime_error("three");
	case 4: return std::abs(x) % (N + 1);
	case 5: return x ^ N;
	case 6: return x << (N % 7);
	case 7: return x >> (N % 5);
	case 8: return ~x;
	default: return -x;
	}
}

template <int... N> int all_steps(int x, std::integer_sequence<int, N...>)
{
	int sum = 0;

	for (auto function : { &step<N>... })
		try {
			sum += function(x);
		} catch (const std::exception &error) {
			sum += static_cast<int>(std::string(error.what()).size());
		}
	return sum;
}

template <int... N> double all_areas(std::integer_sequence<int, N...>)
{
	std::vector<std::unique_ptr<shape>> shapes;

	(shapes.push_back(std::make_unique<polygon<N>>()), ...);
	std::sort(shapes.begin(), shapes.end(), [](const auto &a, const auto &b) { return a->area() > b->area(); });
	return std::accumulate(shapes.begin(), shapes.end(), 0.0, [](double sum, const auto &s) { return sum + s->area(); });
}

int main()
{
	std::map<std::string, std::variant<int, double, std::string>> values{ { "a", 1 }, { "b", 2.5 }, { "c", "three" } };
	std::unordered_map<int, std::function<int(int)>> functions;
	std::ostringstream text;

	for (const auto &[key, value] : values)
		std::visit([&text, &key = key](const auto &v) { text << key << '=' << v << ';'; }, value);
	for (int i = 0; i < 10; i++)
		functions[i] = [i](int x) { return x + i; };
	std::thread([&] { text << functions.at(3)(4); }).join();
	std::cout << std::regex_replace(text.str(), std::regex("([a-z])=([0-9.]+)"), "$2=$1") << ' '
		  << all_steps(7, std::make_integer_sequence<int, 200>()) << ' ' << all_areas(std::make_integer_sequence<int, 8>()) << '\n';
}
