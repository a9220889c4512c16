-- SPDX-License-Identifier: MIT
-- What Lua is used for: tables, strings, closures, objects, coroutines, numbers. usage: lua5.4 work.lua SIZE
local size = tonumber(arg[1])

local seed = 12345
local function rnd(n)
    seed = (seed * 1103515245 + 12345) & 0x7fffffff
    return (seed >> 8) % n
end

local parts = {"ka", "lo", "mi", "ne", "tu", "ra", "so", "vi", "be", "do", "fe", "gu", "hy", "ji", "pa", "qu"}
local function word()
    local w = {}
    for i = 1, 1 + rnd(4) do w[i] = parts[1 + rnd(16)] end
    return table.concat(w)
end

-- Words, counted and sorted.
local text = {}
for i = 1, size * 30 do text[i] = word() end
text = table.concat(text, " ")
local count = {}
for w in text:gmatch("%a+") do count[w] = (count[w] or 0) + 1 end
local names = {}
for w in pairs(count) do names[#names + 1] = w end
table.sort(names, function(a, b)
    if count[a] ~= count[b] then return count[a] > count[b] end
    return a < b
end)
for i = 1, 5 do print(names[i], count[names[i]]) end
local title = text:gsub("(%a)(%a*)", function(a, b) return a:upper() .. b end)
print(#title, title:sub(1, 20))

-- Objects with inheritance.
local Shape = {}
Shape.__index = Shape
function Shape.new(class, w, h) return setmetatable({w = w, h = h}, class) end
function Shape:area() return self.w * self.h end
function Shape:grow(k) self.w = self.w + k return self end
local Triangle = setmetatable({}, {__index = Shape})
Triangle.__index = Triangle
function Triangle:area() return Shape.area(self) // 2 end
local sum = 0
for round = 1, size do
    local shapes = {}
    for i = 1, 50 do shapes[i] = Shape.new(i % 2 == 0 and Shape or Triangle, rnd(100), rnd(100)) end
    for _, s in ipairs(shapes) do sum = (sum + s:grow(round % 5):area()) % 1000003 end
end
print("shapes", sum)

-- A producer and a filter as coroutines.
local function produce(n) return coroutine.wrap(function() for i = 1, n do coroutine.yield(i) end end) end
local function odd(source)
    return coroutine.wrap(function() for i in source do if i % 2 == 1 then coroutine.yield(i) end end end)
end
local total = 0
for i in odd(produce(size * 50)) do total = total + i end
print("odd", total)

-- Numbers: a matrix product, a sieve, the eight queens' bigger cousin.
local n = math.floor(8 * size ^ (1 / 3))
local function matrix(f)
    local m = {}
    for i = 1, n do
        m[i] = {}
        for j = 1, n do m[i][j] = f(i, j) end
    end
    return m
end
local a, b = matrix(function(i, j) return i + j / 7 end), matrix(function(i, j) return i - j / 3 end)
local c = matrix(function(i, j)
    local s, row = 0.0, a[i]
    for k = 1, n do s = s + row[k] * b[k][j] end
    return s
end)
print(string.format("matrix %.6f", c[n][n]))

local limit, primes, composite = size * 200, 0, {}
for i = 2, limit do
    if not composite[i] then
        primes = primes + 1
        for j = i * i, limit, i do composite[j] = true end
    end
end
print("primes", primes)

local function queens(n, row, cols, up, down)
    if row > n then return 1 end
    local found = 0
    for col = 1, n do
        if not cols[col] and not up[row + col] and not down[row - col] then
            cols[col], up[row + col], down[row - col] = true, true, true
            found = found + queens(n, row + 1, cols, up, down)
            cols[col], up[row + col], down[row - col] = nil, nil, nil
        end
    end
    return found
end
for _ = 1, 1 + size // 500 do sum = queens(8, 1, {}, {}, {}) end
print("queens", sum)
