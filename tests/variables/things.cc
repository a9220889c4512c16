// SPDX-License-Identifier: MIT
// The same in C++: operators in place of functions, and namespaces.
#include "things.h"

#include <cstdlib>
#include <new>

namespace outer
{
namespace inner
{
long numbers[100];
}
struct base {
    int first;
};
struct derived : base {
    int second[10];
};
static derived things[20];
} // namespace outer

struct alignas(128) wide {
    char bytes[256];
};

static void drop(char *p)
{
    GONE(p);
    delete[] p;
}

int main()
{
    NAMED("outer::inner::numbers", outer::inner::numbers);
    EACH("outer::things[..].first", outer::things, .first);
    EACH("outer::things[..].second", outer::things, .second);
    for (int i = 0; i < 100; i++)
        outer::inner::numbers[i] = i;
    for (auto &x : outer::things)
        x.first = x.second[3] = 4;
    char *p = new char[1000]; BLOCK(p, 1000, "main", __LINE__); touch(p, 1000); drop(p);
    long *q = new long(5); BLOCK(q, 8, "main", __LINE__); touch(q, 8); GONE(q); delete q;
    wide *w = new wide; BLOCK(w, 256, "main", __LINE__); touch(w, 256); GONE(w); delete w;
    p = new (std::nothrow) char[500]; BLOCK(p, 500, "main", __LINE__); touch(p, 500); drop(p);
    try {
        volatile unsigned long far = 1ul << 60;
        p = new char[far];
    } catch (const std::bad_alloc &) {
        p = static_cast<char *>(malloc(700)); BLOCK(p, 700, "main", __LINE__); touch(p, 700); GONE(p); free(p);
    }
    tell_all();
    return 0;
}
