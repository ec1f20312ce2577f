-- Objects, closures, patterns, numbers: `amount` units, a line each.
local Point = {}
Point.__index = Point
Point.__add = function(a, b) return setmetatable({ x = a.x + b.x, y = a.y + b.y }, Point) end
function Point:length() return math.sqrt(self.x * self.x + self.y * self.y) end

local function counter()
	local n = 0
	return function() n = n + 1 return n end
end

for _ = 1, amount do
	local sum, count = setmetatable({ x = 0, y = 0 }, Point), counter()
	for i = 1, 3000 do
		sum = sum + setmetatable({ x = i * 0.5, y = count() }, Point)
		if sum:length() < 0 then break end
	end
	for word in ("the quick brown fox jumps over the lazy dog "):rep(20):gmatch("%a+") do
		sum.x = sum.x + #word:upper()
	end
	io.write("\n")
	io.flush()
end
