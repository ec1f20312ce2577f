-- Calls, and nothing else: `amount` units, a line each.
local function fib(n)
	if n < 2 then return n end
	return fib(n - 1) + fib(n - 2)
end

for _ = 1, amount do
	fib(20)
	io.write("\n")
	io.flush()
end
