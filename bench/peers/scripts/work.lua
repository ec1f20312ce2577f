-- Calls, tables, strings, sorting; lua.c sets amount.

local function fib(n)
	if n < 2 then return n end
	return fib(n - 1) + fib(n - 2)
end

local seed = 42
local function random()
	seed = (seed * 1103515245 + 12345) % 2147483648
	return seed
end

local total, words = 0, {}
for i = 1, amount do
	total = total + fib(12)
	local list = {}
	for k = 1, 60 do list[k] = random() end
	table.sort(list)
	words[#words + 1] = string.format("%d-%s", list[1], string.rep("x", i % 7)):gsub("x", "y")
end
print(total, #table.concat(words))
