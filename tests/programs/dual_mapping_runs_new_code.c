/* SPDX-License-Identifier: MIT */
/* Code that is run at one address and written at another: two mappings of one memory file, writes by pwrite to it, by
 * another process that shares it, holes punched into it; and code of a file that is written while it is mapped. */
#include "check.h"
#include <fcntl.h>

enum { RX = PROT_READ | PROT_EXEC, RW = PROT_READ | PROT_WRITE, ROUNDS = 300 };

static int fd;
static unsigned char *rx, *rw;

static void *map_file(int prot, int flags)
{
    void *p = mmap(NULL, 2 * PAGE, prot, flags, fd, 0);
    must(p != MAP_FAILED, "map the file");
    return p;
}

static void by_other_mapping(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        put_return(rw + i % 5 * 32, i);
        CHECK_IS(call_code(rx + i % 5 * 32), i);
        rw[i % 5 * 32 + 1] ^= 1;
        CHECK_IS(call_code(rx + i % 5 * 32), i ^ 1);
    }
}

static void by_pwrite(void)
{
    unsigned char code[RETURN_SIZE];
    for (int i = 0; i < ROUNDS; i++) {
        put_return(code, 7000 + i);
        CHECK_IS(pwrite(fd, code, sizeof code, 512), sizeof code);
        CHECK_IS(call_code(rx + 512), 7000 + i);
    }
}

/* The child writes, then tells; the parent runs. */
static void by_another_process(void)
{
    int to[2], from[2];
    char byte = 0;
    must(!pipe(to) && !pipe(from), "make pipes");
    pid_t pid = fork_watched();
    if (!pid) {
        for (int i = 0; i < 50; i++) {
            if (read(to[0], &byte, 1) != 1)
                _exit(1);
            put_return(rw + PAGE, 100 + i);
            if (call_code(rx + PAGE) != 100 + i || write(from[1], "x", 1) != 1)
                _exit(2);
        }
        _exit(0);
    }
    for (int i = 0; i < 50; i++) {
        CHECK_IS(write(to[1], "x", 1), 1);
        CHECK_IS(read(from[0], &byte, 1), 1);
        CHECK_IS(call_code(rx + PAGE), 100 + i);
    }
    CHECK_IS(status_of(pid), 0);
}

static void by_holes(void)
{
    catch_faults(0);
    for (int i = 0; i < 20; i++) {
        put_return(rw + PAGE, i);
        CHECK_IS(call_code(rx + PAGE), i);
        if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, PAGE, PAGE))
            return;
        CATCH(asm volatile("xor %%eax, %%eax\n\tcall *%0"
                           :
                           : "r"(rx + PAGE)
                           : "rax", "memory", "cc"));
        CHECK_IS(fault.sig, SIGSEGV);
        CHECK_IS(fault.addr, 0);
    }
    /* Cut off: there is nothing to fetch from. */
    put_return(rw + PAGE, 3);
    CHECK_IS(call_code(rx + PAGE), 3);
    CHECK(!ftruncate(fd, PAGE));
    CATCH(call_code(rx + PAGE));
    CHECK_IS(fault.sig, SIGBUS);
    CHECK_IS(fault.code, BUS_ADRERR);
    CHECK_IS(fault.reg[REG_RIP], (long)(rx + PAGE));
    CHECK_IS(fault.addr, rx + PAGE);
    CHECK(!ftruncate(fd, 2 * PAGE));
}

/* A private copy: changed by its own store, not by the file any more; thrown away, it is the file again. */
static void private_copy(void)
{
    unsigned char *own = map_file(RW | PROT_EXEC, MAP_PRIVATE);
    put_return(rw, 1);
    CHECK_IS(call_code(own), 1);
    put_return(own, 2);
    CHECK_IS(call_code(own), 2);
    CHECK_IS(call_code(rx), 1);
    put_return(rw, 3);
    CHECK_IS(call_code(own), 2);
    CHECK(!madvise(own, PAGE, MADV_DONTNEED));
    CHECK_IS(call_code(own), 3);
    munmap(own, 2 * PAGE);
}

static void run_all(void)
{
    rx = map_file(RX, MAP_SHARED);
    rw = map_file(RW, MAP_SHARED);
    by_other_mapping();
    by_pwrite();
    by_another_process();
    private_copy();
    by_holes();
    munmap(rx, 2 * PAGE);
    munmap(rw, 2 * PAGE);
    close(fd);
}

int main(void)
{
    char path[] = "/var/tmp/dual-XXXXXX";
    watchdog(WATCHDOG_SECONDS);
    fd = memfd_create("code", 0);
    must(fd >= 0 && !ftruncate(fd, 2 * PAGE), "make a memory file");
    run_all();
    fd = mkstemp(path);
    unlink(path);
    must(fd >= 0 && !ftruncate(fd, 2 * PAGE), "make a file");
    run_all();
    return verdict();
}
