/* SPDX-License-Identifier: MIT */
/* The kernel writes code, by every call that writes to memory, over code that has already run: what it wrote runs. */
#include "check.h"
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/uio.h>

static unsigned char *page, code[64];
static int pipe_fds[2], socks[2], file;

static void feed(int fd)
{
    must(write(fd, code, 64) == 64, "feed");
}

static long by_read(void)
{
    feed(pipe_fds[1]);
    return read(pipe_fds[0], page, 64);
}

static long by_readv(void)
{
    struct iovec parts[2] = {{page, 3}, {page + 3, 61}};
    feed(pipe_fds[1]);
    return readv(pipe_fds[0], parts, 2);
}

static long by_pread(void)
{
    must(pwrite(file, code, 64, 100) == 64, "feed");
    return pread(file, page, 64, 100);
}

static long by_preadv(void)
{
    struct iovec part = {page, 64};
    must(pwrite(file, code, 64, 100) == 64, "feed");
    return preadv(file, &part, 1, 100);
}

static long by_recv(void)
{
    feed(socks[1]);
    return recv(socks[0], page, 64, 0);
}

static long by_recvmsg(void)
{
    struct iovec part = {page, 64};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    feed(socks[1]);
    return recvmsg(socks[0], &message, 0);
}

static long by_recvmmsg(void)
{
    struct iovec part = {page, 64};
    struct mmsghdr message = {.msg_hdr = {.msg_iov = &part, .msg_iovlen = 1}};
    feed(socks[1]);
    return recvmmsg(socks[0], &message, 1, 0, NULL) == 1 ? (long)message.msg_len : -1;
}

static long by_vm_readv(void)
{
    struct iovec to = {page, 64}, from = {code, 64};
    return process_vm_readv(getpid(), &to, 1, &from, 1, 0);
}

static long by_vm_writev(void)
{
    struct iovec from = {code, 64}, to = {page, 64};
    return process_vm_writev(getpid(), &from, 1, &to, 1, 0);
}

/* Through the file of the process's memory, as debuggers do. */
static long by_proc_mem(void)
{
    static int mem = -1;
    if (mem < 0)
        mem = open("/proc/self/mem", O_RDWR);
    return pwrite(mem, code, 64, (off_t)page);
}

static long by_copy(void)
{
    memcpy(page, code, 64);
    return 64;
}

static const struct {
    const char *name;
    long (*write)(void);
} ways[] = {
    {"read", by_read},           {"readv", by_readv},
    {"pread", by_pread},         {"preadv", by_preadv},
    {"recv", by_recv},           {"recvmsg", by_recvmsg},
    {"recvmmsg", by_recvmmsg},   {"vm_readv", by_vm_readv},
    {"vm_writev", by_vm_writev}, {"/proc/self/mem", by_proc_mem},
    {"memcpy", by_copy},
};

int main(void)
{
    char path[] = "/var/tmp/read-XXXXXX";
    watchdog(WATCHDOG_SECONDS);
    file = mkstemp(path);
    unlink(path);
    must(!pipe(pipe_fds) && !socketpair(AF_UNIX, SOCK_STREAM, 0, socks) && file >= 0,
         "make descriptors");
    unsigned char *pages = map(3 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
    for (int turn = 0; turn < 20; turn++) {
        page = pages + (turn % 2 ? PAGE - 4 : 128 * turn); /* also over the border */
        for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
            int wanted = 1000 * turn + (int)i;
            memset(code, 0x90, 64);
            put_return(code + 58, wanted);
            long n = ways[i].write();
            if (n != 64)
                fail("%s gives %ld\n", ways[i].name, n);
            CHECK_IS(call_code(page), wanted);
            CHECK_IS(call_code(page + 30), wanted);
        }
    }
    /* A short read changes only what it reads. */
    put_return(page, 0x11111111);
    CHECK_IS(call_code(page), 0x11111111);
    must(write(pipe_fds[1], "\x22\x22", 2) == 2, "feed");
    CHECK_IS(read(pipe_fds[0], page + 2, 100), 2);
    CHECK_IS(call_code(page), 0x11222211);
    /* One that fails half way has still written. */
    page = pages + 2 * PAGE - 32;
    munmap(pages + 2 * PAGE, PAGE);
    put_return(page + 26, 5);
    CHECK_IS(call_code(page + 26), 5);
    memset(code, 0x90, 64);
    put_return(code + 26, 6);
    feed(socks[1]);
    long n = recv(socks[0], page, 64, 0);
    CHECK(n == 32 || n == -1);
    CHECK_IS(call_code(page + 26), n == 32 || page[27] == 6 ? 6 : 5);
    return verdict();
}
