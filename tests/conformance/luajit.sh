#!/bin/sh
# SPDX-License-Identifier: MIT
# luajit: hot loops become machine code near the interpreter; traces leave at guards, pages change between writable and executable.
# small
# needs: luajit

cat >work.lua <<'LUA'
local ffi, bit = require("ffi"), require("bit")
ffi.cdef[[
int abs(int); double pow(double, double); size_t strlen(const char *);
void qsort(void *, size_t, size_t, int (*)(const int *, const int *));
typedef struct { uint8_t r, g, b; float w; } pixel;
]]

-- integers and floats, strings, tables
local x = 12345
for i = 1, 3e6 do x = bit.bxor(bit.lshift(x, 5), bit.rshift(x, 7), i) end
print("bits", x)
local s = 0
for i = 1, 2e6 do s = s + math.sin(i) * i % 7 end
print("floats", string.format("%.6f", s))
local parts = {}
for i = 1, 50000 do parts[#parts + 1] = ("%d:%s"):format(i, ("x"):rep(i % 5)) end
local text = table.concat(parts, ",")
print("strings", #text, select(2, text:gsub("x+", "")), text:find("49999:", 1, true))
local sieve, primes = {}, 0
for i = 2, 200000 do
  if not sieve[i] then primes = primes + 1; for k = i * i, 200000, i do sieve[k] = true end end
end
print("primes", primes)

-- a loop whose types change after it was compiled: side traces and deoptimisation
local function add(a, b) return a + b end
local sum = 0
for i = 1, 300000 do
  if i % 1000 == 0 then sum = add(sum, 0.5) elseif i % 777 == 0 then sum = add(sum, "2") else sum = add(sum, 1) end
end
print("side traces", sum)

-- metatables, closures, coroutines, errors thrown out of compiled code
local V = {}
V.__index = V
V.__add = function(a, b) return setmetatable({ x = a.x + b.x, y = a.y + b.y }, V) end
local v = setmetatable({ x = 0, y = 0 }, V)
for i = 1, 200000 do v = v + setmetatable({ x = i, y = -i }, V) end
print("objects", v.x, v.y)
local gen = coroutine.wrap(function() for i = 1, 1e5 do coroutine.yield(i) end end)
local c = 0
for i = 1, 1e5 do c = c + gen() end
print("coroutines", c)
local caught = 0
for i = 1, 20000 do if not pcall(function() if i % 3 == 0 then error({}) end end) then caught = caught + 1 end end
print("errors", caught)
local depth = 0
local function deep(n) depth = n; return 1 + deep(n + 1) end
print("overflow", pcall(deep, 1) == false, depth > 1000)

-- the foreign function interface, and callbacks from C
local p = ffi.new("pixel[?]", 1000)
for k = 1, 100 do for i = 0, 999 do p[i].r = (p[i].r + i) % 256; p[i].w = p[i].w + p[i].r * 0.5 end end
print("structs", p[999].r, p[500].w, ffi.sizeof("pixel"))
local n = 0
for i = -100000, 100000 do n = n + ffi.C.abs(i) end
print("calls", tonumber(n), ffi.C.pow(2, 0.5), tonumber(ffi.C.strlen("hello")))
local a = ffi.new("int[?]", 2000)
for i = 0, 1999 do a[i] = i * 7919 % 2003 end
local compare = ffi.cast("int (*)(const int *, const int *)", function(l, r) return l[0] - r[0] end)
ffi.C.qsort(a, 2000, 4, compare)
compare:free()
print("callbacks", a[0], a[1000], a[1999])
local u = 1ULL
for i = 1, 100 do u = u * 6364136223846793005ULL + 1442695040888963407ULL end
print("64 bits", u)

-- many small functions: the code area fills, is protected and unprotected, and is flushed
for i = 1, 400 do
  local f = loadstring(("local s = 0 for i = 1, 200 do s = s + i * %d %% 13 end return s"):format(i))
  local r = f()
  if i % 100 == 0 then print("generated", i, r); jit.flush() end
end
collectgarbage()
print("garbage", collectgarbage("count") < 20000)
LUA
$GAIT luajit work.lua >with
echo "status $?"
$GAIT luajit -joff work.lua >without
echo "status $?"
cat with
cmp with without && echo "same with and without the compiler"
$GAIT luajit -Ohotloop=2 -Omaxmcode=64 -Osizemcode=32 work.lua | cmp - with && echo "same with a tiny code area"
$GAIT luajit -jv -e 'local t = 0 for i = 1, 1000 do t = t + i end print(t)' 2>&1 | grep -c TRACE
$GAIT luajit -e 'error("on purpose")' 2>err
echo "status $?"
sed 's/ 0x.*//' err
$GAIT luajit -b -e 'return 1' out.raw && wc -c <out.raw
