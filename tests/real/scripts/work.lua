-- Coroutines, errors through C frames (longjmp), closures, strings, tail calls and the collector.
local function generator(n)
  return coroutine.wrap(function() for i = 1, n do coroutine.yield(i) end end)
end
local sum = 0
for i in generator(20000) do sum = sum + i end
print("coroutines", sum)
local caught = 0
for i = 1, 5000 do
  local ok, message = pcall(function() if i % 2 == 0 then error({ code = i }) end return i end)
  if not ok and message.code == i then caught = caught + 1 end
end
print("errors", caught)
local ok, message = pcall(string.rep)
print(message)
print(select(2, pcall(function() local t = setmetatable({}, { __index = function(_, k) error("no " .. k) end }) return t.x end)))
local function loop(n) if n == 0 then return "tail" end return loop(n - 1) end
print(loop(100000))
local parts = {}
for i = 1, 5000 do parts[#parts + 1] = string.format("%d:%x", i, i * i) end
local text = table.concat(parts, ",")
print(#text, select(2, text:gsub("%d+", "")))
table.sort(parts, function(a, b) return a > b end)
print(parts[1], parts[#parts])
collectgarbage()
print(select(2, xpcall(function() error("last") end, function(m) return "handled " .. m end)))
os.exit(3)
