/* SPDX-License-Identifier: MIT */
/* Libraries come and go, at addresses where others were before, with constructors, in several name spaces and threads;
 * each function called is that of the library that is there now. */
#include "check.h"
#include <dlfcn.h>
#include <pthread.h>

/* Functions of libraries that are there wherever the C library is, with a known result. */
static long call_cbrt(void *f)
{
    return (long)(((double (*)(double))f)(27) + 0.5);
}

static long call_samename(void *f)
{
    return ((int (*)(const char *, const char *))f)("Example.COM.", "example.com");
}

static long call_popcount(void *f)
{
    return ((int (*)(long))f)(0xff0f);
}

static long call_width(void *f)
{
    return (long)((size_t(*)(void))f)();
}

static const struct library {
    const char *file, *function;
    long (*call)(void *f);
    long result;
} libraries[] = {
    {"libm.so.6", "cbrt", call_cbrt, 3},
    {"libresolv.so.2", "ns_samename", call_samename, 1},
    {"libgcc_s.so.1", "__popcountdi2", call_popcount, 12},
    {"libBrokenLocale.so.1", "__ctype_get_mb_cur_max", call_width, 1},
};
enum { LIBRARIES = sizeof libraries / sizeof *libraries };

static void use(const struct library *l, int how)
{
    void *library = dlopen(l->file, how % 2 ? RTLD_LAZY : RTLD_NOW);
    if (!library) {
        fail("%s: %s\n", l->file, dlerror());
        return;
    }
    void *f = dlsym(library, l->function);
    CHECK(f != NULL);
    if (f) {
        CHECK_IS(l->call(f), l->result);
        CHECK_IS(l->call(f), l->result);
    }
    CHECK(!dlsym(library, "no_such_function"));
    CHECK_IS(dlclose(library), 0);
}

static void *in_thread(void *arg)
{
    for (int i = 0; i < 30; i++)
        use(&libraries[(i + (long)arg) % LIBRARIES], i);
    return NULL;
}

int main(void)
{
    pthread_t thread[2];
    watchdog(WATCHDOG_SECONDS);
    for (int round = 0; round < 60; round++)
        use(&libraries[round % LIBRARIES], round / LIBRARIES);
    /* The same file again in a name space of its own: other code, same function. */
    void *other = dlmopen(LM_ID_NEWLM, "libresolv.so.2", RTLD_NOW);
    if (other) {
        CHECK_IS(call_samename(dlsym(other, "ns_samename")), 1);
        dlclose(other);
    }
    for (long i = 0; i < 2; i++)
        must(!pthread_create(&thread[i], NULL, in_thread, (void *)i), "create a thread");
    in_thread((void *)2);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    CHECK(!dlopen("no-such-library.so", RTLD_NOW));
    return verdict();
}
