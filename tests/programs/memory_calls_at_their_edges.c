/* SPDX-License-Identifier: MIT */
/* brk, mmap, mprotect, munmap and mremap with nothing, with odd and with impossible arguments: the same results, and
 * memory as it should be; files mapped in parts and used as data. */
#include "check.h"
#include <fcntl.h>
#include <sys/stat.h>

static const int own = MAP_PRIVATE | MAP_ANONYMOUS;

static bool fails_with(void *p, int error)
{
    return p == MAP_FAILED && errno == error;
}

static void heap(void)
{
    char *start = sbrk(0);
    CHECK(start == (char *)syscall(SYS_brk, 0));
    CHECK(start == sbrk(10 * PAGE));
    start[0] = 'a';
    start[10 * PAGE - 1] = 'b';
    CHECK(sbrk(-5 * PAGE) == start + 10 * PAGE);
    CATCH(*(volatile char *)(start + 10 * PAGE - 1));
    CHECK_IS(fault.sig, SIGSEGV);
    CHECK_IS(start[0], 'a');
    CHECK(sbrk(5 * PAGE) == start + 5 * PAGE);
    CHECK_IS(start[10 * PAGE - 1], 0);   /* fresh again */
    CHECK(sbrk(3) == start + 10 * PAGE); /* not in line */
    CHECK(sbrk(-3) == start + 10 * PAGE + 3);
    CHECK((char *)syscall(SYS_brk, 8) == start + 10 * PAGE); /* too low: nothing happens */
    CHECK(sbrk(-10 * PAGE) == start + 10 * PAGE);
    CHECK(sbrk(0) == start);
}

static void nothing(void)
{
    char *p = map(PAGE, PROT_READ | PROT_WRITE);
    CHECK(fails_with(mmap(NULL, 0, PROT_READ, own, -1, 0), EINVAL));
    CHECK(fails_with(mmap(NULL, PAGE, PROT_READ, MAP_ANONYMOUS, -1, 0), EINVAL));
    CHECK(fails_with(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, -1, 0), EBADF));
    CHECK(fails_with(mmap(p + 1, PAGE, PROT_READ, own | MAP_FIXED, -1, 0), EINVAL));
    CHECK(fails_with(mmap(NULL, (size_t)1 << 60, PROT_READ, own, -1, 0), ENOMEM));
    CHECK(fails_with(mmap(NULL, -1, PROT_READ, own, -1, 0), ENOMEM));
    CHECK(munmap(p, 0) == -1 && errno == EINVAL);
    CHECK(munmap(p + 1, PAGE) == -1 && errno == EINVAL);
    CHECK(munmap((void *)(1ul << 47), PAGE) == -1 && errno == EINVAL);
    CHECK_IS(mprotect(p, 0, PROT_NONE), 0);
    p[0] = 1; /* still */
    CHECK(mprotect(p + 1, PAGE, PROT_READ) == -1 && errno == EINVAL);
    CHECK(mprotect(p, PAGE, 0x100) == -1 && errno == EINVAL);
    munmap(p, PAGE);
    CHECK(mprotect(p, PAGE, PROT_READ) == -1 && errno == ENOMEM);
    CHECK_IS(munmap(p, PAGE), 0); /* nothing there: no error */
    CHECK(mremap(p, PAGE, 2 * PAGE, MREMAP_MAYMOVE) == MAP_FAILED && errno == EFAULT);
}

/* mprotect over a hole changes what comes before it. */
static void holes(void)
{
    char *p = map(5 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
    put_return(p, 1);
    put_return(p + 4 * PAGE, 2);
    munmap(p + 2 * PAGE, PAGE);
    CHECK_IS(call_code(p), 1);
    CHECK(mprotect(p, 5 * PAGE, PROT_READ) == -1 && errno == ENOMEM);
    CATCH(call_code(p));
    CHECK_IS(fault.code, SEGV_ACCERR);
    CHECK_IS(call_code(p + 4 * PAGE), 2);
    munmap(p, 5 * PAGE);
}

static void moving(void)
{
    char *p = map(4 * PAGE, PROT_READ | PROT_WRITE);
    for (int i = 0; i < 4; i++)
        p[i * PAGE] = (char)('a' + i);
    CHECK(mremap(p, 4 * PAGE, 2 * PAGE, 0) == p);
    CATCH(*(volatile char *)(p + 2 * PAGE));
    CHECK_IS(fault.sig, SIGSEGV);
    char *q = mremap(p, 2 * PAGE, 200 * PAGE, MREMAP_MAYMOVE);
    CHECK(q != MAP_FAILED && q[0] == 'a' && q[PAGE] == 'b' && q[2 * PAGE] == 0);
    char *target = map(200 * PAGE, PROT_NONE);
    CHECK(mremap(q, 200 * PAGE, 200 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, target) == target);
    CHECK(target[0] == 'a' && target[PAGE] == 'b');
    CHECK(mremap(target, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, target + 1) == MAP_FAILED &&
          errno == EINVAL);
    CHECK(mremap(target, 0, PAGE, MREMAP_MAYMOVE) == MAP_FAILED && errno == EINVAL);
    /* Left behind on purpose: the old place is empty, not gone. */
    char *r = mremap(target, 2 * PAGE, 2 * PAGE, MREMAP_MAYMOVE | 4);
    if (r != MAP_FAILED) {
        CHECK(r[0] == 'a' && target[0] == 0);
        munmap(r, 2 * PAGE);
    }
    munmap(target, 200 * PAGE);
}

/* Parts of this very program, mapped as data, with other protections, and over one another. */
static void own_file(void)
{
    struct stat st;
    int fd = open("/proc/self/exe", O_RDONLY);
    must(fd >= 0 && !fstat(fd, &st), "open the program's file");
    const char *all = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    CHECK(all != MAP_FAILED && !memcmp(all, "\177ELF", 4));
    char *part = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, PAGE);
    CHECK(part != MAP_FAILED && !memcmp(part, all + PAGE, PAGE));
    memset(part, 0xc3, PAGE);
    mprotect(part, 2 * PAGE, PROT_READ | PROT_EXEC);
    call_code(part + 5);
    CHECK(!memcmp(part + PAGE, all + 2 * PAGE, 64));
    CHECK(mmap(part, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, 0) == part);
    CHECK(!memcmp(part, "\177ELF", 4));
    CHECK(fails_with(mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), EACCES));
    CHECK(fails_with(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 1), EINVAL));
    /* Beyond its end. */
    long rounded = (st.st_size + PAGE - 1) & -PAGE;
    char *tail = mmap(NULL, rounded + PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
    CATCH(*(volatile char *)(tail + rounded));
    CHECK_IS(fault.sig, SIGBUS);
    CHECK_IS(fault.code, BUS_ADRERR);
    CHECK_IS(fault.addr, tail + rounded);
    close(fd);
}

static void growing_down(void)
{
    char *p = mmap(NULL, 16 * PAGE, PROT_READ | PROT_WRITE, own, -1, 0);
    munmap(p, 15 * PAGE);
    char *top =
        mmap(p + 15 * PAGE, PAGE, PROT_READ | PROT_WRITE, own | MAP_FIXED | MAP_GROWSDOWN, -1, 0);
    CHECK(top == p + 15 * PAGE);
    top[-1] = 'x'; /* the kernel makes room */
    CHECK_IS(top[-1], 'x');
}

int main(void)
{
    watchdog(WATCHDOG_SECONDS);
    catch_faults(0);
    for (int round = 0; round < 3; round++) {
        heap();
        nothing();
        holes();
        moving();
        own_file();
    }
    growing_down();
    return verdict();
}
