/* SPDX-License-Identifier: MIT */
/* Code runs wherever the kernel lets it: in System V shared memory, in the program's data and heap made executable, on
 * the stack, under a personality that makes all readable memory executable, in a copy of the vdso, in locked and in huge
 * regions. */
#include "check.h"
#include <sys/auxv.h>
#include <sys/personality.h>
#include <sys/shm.h>

enum { RWX = PROT_READ | PROT_WRITE | PROT_EXEC, RX = PROT_READ | PROT_EXEC };

/* Write, run, change, run; with the pages executable all the time. */
static void use(unsigned char *at, const char *where)
{
    for (int i = 0; i < 20; i++) {
        put_return(at, i);
        if (call_code(at) != i)
            fail("%s: not what is there\n", where);
    }
}

static void in_shared_memory(void)
{
    int id = shmget(IPC_PRIVATE, PAGE, 0700 | IPC_CREAT);
    must(id >= 0, "make shared memory");
    unsigned char *run = shmat(id, NULL, SHM_EXEC), *write_to = shmat(id, NULL, 0);
    CHECK(run != (void *)-1 && write_to != (void *)-1);
    use(run, "shared memory");
    for (int i = 0; i < 20; i++) {
        put_return(write_to, 50 + i);
        CHECK_IS(call_code(run), 50 + i);
    }
    shmdt(write_to);
    CHECK_IS(call_code(run), 69);
    shmdt(run);
    shmctl(id, IPC_RMID, NULL);
    CATCH(call_code(run));
    CHECK_IS(fault.sig, SIGSEGV);
}

static unsigned char data[2 * PAGE] __attribute__((aligned(4096))) = {1};

static void in_own_memory(void)
{
    unsigned char *heap = aligned_alloc(PAGE, PAGE), on_stack[64] __attribute__((aligned(64)));
    CHECK(!mprotect(data, PAGE, RWX));
    use(data + 16, "data");
    CHECK(!mprotect(heap, PAGE, RWX));
    use(heap + 32, "heap");
    unsigned char *brk = sbrk(2 * PAGE);
    brk = (unsigned char *)(((uintptr_t)brk + PAGE - 1) & -(uintptr_t)PAGE);
    CHECK(!mprotect(brk, PAGE, RWX));
    use(brk, "the top of the heap");
    uintptr_t page = (uintptr_t)on_stack & -(uintptr_t)PAGE;
    CHECK(!mprotect((void *)page, PAGE, RWX));
    use(on_stack, "the stack");
    mprotect(heap, PAGE, PROT_READ | PROT_WRITE);
    free(heap);
}

/* Of the functions of the vdso, copied elsewhere, at least the bytes are the same; its own are called by everybody. */
static void the_vdso(void)
{
    const unsigned char *vdso = (const unsigned char *)getauxval(AT_SYSINFO_EHDR);
    unsigned char *copy = map(2 * PAGE, PROT_READ | PROT_WRITE);
    struct timespec a, b;
    memcpy(copy, vdso, PAGE);
    CHECK(!memcmp(copy, "\177ELF", 4));
    clock_gettime(CLOCK_MONOTONIC, &a);
    for (int i = 0; i < 100; i++) {
        clock_gettime(CLOCK_MONOTONIC, &b);
        CHECK(b.tv_sec > a.tv_sec || (b.tv_sec == a.tv_sec && b.tv_nsec >= a.tv_nsec));
        a = b;
    }
}

/* A large region, aligned for huge pages, with code at its ends. */
static void in_a_large_region(void)
{
    enum { SIZE = 4 << 20 };
    unsigned char *p = map(SIZE, RWX);
    madvise(p, SIZE, MADV_HUGEPAGE);
    use(p, "the first bytes");
    use(p + SIZE - 64, "the last bytes");
    CHECK(!munmap(p + PAGE, SIZE - 2 * PAGE));
    use(p, "the first page left");
    use(p + SIZE - PAGE, "the last page left");
}

static int readable_is_executable(void)
{
    personality(READ_IMPLIES_EXEC);
    unsigned char *p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    put_return(p, 7);
    CATCH(call_code(p) == 7 ? (void)0 : fail("not what is there\n"));
    int first = fault.sig;
    mprotect(p, PAGE, PROT_READ);
    CATCH(call_code(p));
    say("readable memory: signal %d, then %d\n", first, fault.sig);
    return check_failures ? 1 : 0;
}

int main(void)
{
    watchdog(WATCHDOG_SECONDS);
    catch_faults(0);
    in_shared_memory();
    in_own_memory();
    the_vdso();
    in_a_large_region();
    CHECK_IS(status_in_child(readable_is_executable), 0);
    return verdict();
}
