-- Tables, sorting, strings: `amount` units, a line each.
local seed = 42
local function random()
	seed = (seed * 1103515245 + 12345) % 2147483648
	return seed
end

for _ = 1, amount do
	local words = {}
	for i = 1, 40 do
		local list = {}
		for k = 1, 60 do list[k] = random() end
		table.sort(list)
		words[#words + 1] = string.format("%d-%s", list[1], string.rep("x", i % 7)):gsub("x", "y")
	end
	table.concat(words)
	io.write("\n")
	io.flush()
end
