/* SPDX-License-Identifier: MIT */
/* clone and clone3 with flags of every sort, made without the library: with and without a new thread pointer, ids stored
 * and cleared, with a stack of a page, with no stack, with pidfd; wrong ones are refused and leave all registers alone. */
#include "check.h"
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>

struct clone_args_v0 {
    uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid,
        set_tid_size, cgroup;
};

/* clone(flags, stack, ptid, ctid, tls); the child calls f(arg) and exits with what it returns. Result as the kernel gives it. */
long raw_clone(long flags, void *stack, int *ptid, int *ctid, void *tls, long (*f)(long), long arg);
long raw_clone3(void *args, long size, long (*f)(long), long arg);
extern long keep_wrong;
asm(".globl raw_clone, raw_clone3\n"
    "raw_clone:\n"
    "    push %rbx\n"
    "    push %r12\n"
    "    push %r13\n"
    "    mov 32(%rsp), %r12\n" /* arg */
    "    mov %r9, %r13\n"      /* f */
    "    mov %rcx, %r10\n"
    "    mov $0x5151, %ebx\n"
    "    mov $56, %eax\n"
    "    syscall\n"
    "    jmp 1f\n"
    "raw_clone3:\n"
    "    push %rbx\n"
    "    push %r12\n"
    "    push %r13\n"
    "    mov %rcx, %r12\n"
    "    mov %rdx, %r13\n"
    "    mov $0x5151, %ebx\n"
    "    mov $435, %eax\n"
    "    syscall\n"
    "1:  test %rax, %rax\n"
    "    jz 2f\n"
    "    cmp $0x5151, %ebx\n"
    "    je 3f\n"
    "    incq keep_wrong(%rip)\n"
    "3:  pop %r13\n"
    "    pop %r12\n"
    "    pop %rbx\n"
    "    ret\n"
    "2:  xor %ebp, %ebp\n"
    "    cmp $0x5151, %ebx\n"
    "    je 4f\n"
    "    incq keep_wrong(%rip)\n"
    "4:  and $-16, %rsp\n"
    "    mov %r12, %rdi\n"
    "    call *%r13\n"
    "    mov %eax, %edi\n"
    "    mov $60, %eax\n"
    "    syscall\n");
long keep_wrong;

static volatile int counter;
static long own_pointer[64]; /* stands for a thread's own area */

/* What runs in a clone must not use the library: there may be no thread pointer for it. */
static long count(long n)
{
    __sync_fetch_and_add(&counter, (int)n);
    return n;
}

static long check_pointer(long n)
{
    long first;
    asm volatile("mov %%fs:8, %0" : "=r"(first));
    __sync_fetch_and_add(&counter, first == 4711 ? (int)n : 1000000);
    return 0;
}

static void wait_cleared(volatile int *tid)
{
    int value;
    while ((value = *tid))
        syscall(SYS_futex, tid, FUTEX_WAIT, value, NULL, NULL, 0);
}

enum { THREAD = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM };

static char *stack_top(size_t size)
{
    return (char *)map(size, PROT_READ | PROT_WRITE) + size;
}

static void threads(void)
{
    volatile int ptid, ctid;
    own_pointer[1] = 4711;
    counter = 0;
    for (int i = 0; i < 20; i++) {
        ptid = ctid = -1;
        long tid =
            raw_clone(THREAD | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID,
                      stack_top(i % 2 ? PAGE : 65536), (int *)&ptid, (int *)&ctid, NULL, count, 1);
        CHECK(tid > 0 && tid == ptid);
        wait_cleared(&ctid);
        CHECK_IS(counter, i + 1);
    }
    counter = 0;
    for (int i = 0; i < 20; i++) {
        ctid = -1;
        CHECK(raw_clone(THREAD | CLONE_SETTLS | CLONE_CHILD_CLEARTID, stack_top(PAGE), NULL,
                        (int *)&ctid, own_pointer, check_pointer, 1) > 0);
        wait_cleared(&ctid);
        CHECK_IS(counter, i + 1);
    }
}

static void processes(void)
{
    int status, tid = 0;
    static volatile int child_tid;
    counter = 0;
    for (int i = 0; i < 5; i++) {
        /* A copy, without a stack: like fork. */
        long pid = raw_clone(SIGCHLD | CLONE_CHILD_SETTID | CLONE_PARENT_SETTID, NULL, &tid,
                             (int *)&child_tid, NULL, count, 5);
        CHECK(pid > 0 && tid == pid);
        CHECK_IS(status_of((pid_t)pid), 5 << 8);
        CHECK_IS(counter, 0);
        /* Shared memory, another process. */
        pid = raw_clone(SIGCHLD | CLONE_VM, stack_top(65536), NULL, NULL, NULL, count, 6);
        CHECK_IS(status_of((pid_t)pid), 6 << 8);
        CHECK_IS(counter, 6);
        /* Like vfork, on a stack of its own. */
        pid = raw_clone(SIGCHLD | CLONE_VM | CLONE_VFORK, stack_top(65536), NULL, NULL, NULL, count,
                        7);
        CHECK_IS(counter, 13);
        CHECK_IS(status_of((pid_t)pid), 7 << 8);
        counter = 0;
        /* Without a signal at its end it must be waited for by name. */
        pid = raw_clone(0, NULL, NULL, NULL, NULL, count, 8);
        CHECK(waitpid((pid_t)pid, &status, 0) == -1 && errno == ECHILD);
        CHECK(waitpid((pid_t)pid, &status, __WCLONE) == pid && status == 8 << 8);
    }
}

static void by_clone3(void)
{
    int fd = -1;
    volatile int ctid = -1;
    char *stack = map(65536, PROT_READ | PROT_WRITE);
    struct clone_args_v0 args = {
        .exit_signal = SIGCHLD, .flags = CLONE_PIDFD, .pidfd = (uintptr_t)&fd};
    long pid = raw_clone3(&args, sizeof args, count, 21);
    if (pid == -ENOSYS)
        return;
    CHECK(pid > 0 && fd >= 0);
    struct pollfd end = {.fd = fd, .events = POLLIN};
    CHECK_IS(poll(&end, 1, -1), 1);
    CHECK_IS(status_of((pid_t)pid), 21 << 8);
    close(fd);
    counter = 0;
    args = (struct clone_args_v0){.flags = THREAD | CLONE_CHILD_CLEARTID,
                                  .child_tid = (uintptr_t)&ctid,
                                  .stack = (uintptr_t)stack,
                                  .stack_size = 65536};
    CHECK(raw_clone3(&args, 64, count, 3) > 0); /* the first version of the structure */
    wait_cleared(&ctid);
    CHECK_IS(counter, 3);
    /* Handlers cleared on request. */
    args = (struct clone_args_v0){.exit_signal = SIGCHLD, .flags = 0x100000000ull};
    CHECK_IS(status_of((pid_t)raw_clone3(&args, sizeof args, count, 4)), 4 << 8);
    /* Wrong ones. */
    args = (struct clone_args_v0){.exit_signal = SIGCHLD};
    CHECK_IS(raw_clone3(&args, 8, count, 0), -EINVAL);
    CHECK_IS(raw_clone3((void *)8, 64, count, 0), -EFAULT);
    CHECK_IS(raw_clone3(&args, 100000, count, 0), -E2BIG);
    args.exit_signal = 200;
    CHECK_IS(raw_clone3(&args, 64, count, 0), -EINVAL);
    args = (struct clone_args_v0){.flags = CLONE_THREAD};
    CHECK_IS(raw_clone3(&args, 64, count, 0), -EINVAL);
    args = (struct clone_args_v0){.flags = CLONE_VM, .stack = (uintptr_t)stack};
    CHECK_IS(raw_clone3(&args, 64, count, 0), -EINVAL);
    args = (struct clone_args_v0){.flags = 1ull << 40};
    CHECK_IS(raw_clone3(&args, 64, count, 0), -EINVAL);
}

static void wrong(void)
{
    CHECK_IS(raw_clone(CLONE_THREAD, NULL, NULL, NULL, NULL, count, 0), -EINVAL);
    CHECK_IS(raw_clone(CLONE_SIGHAND, NULL, NULL, NULL, NULL, count, 0), -EINVAL);
    CHECK_IS(raw_clone(CLONE_VM | CLONE_NEWUSER | CLONE_FS, NULL, NULL, NULL, NULL, count, 0),
             -EINVAL);
}

int main(void)
{
    watchdog(WATCHDOG_SECONDS);
    for (int round = 0; round < 3; round++) {
        threads();
        processes();
        by_clone3();
        wrong();
    }
    CHECK_IS(keep_wrong, 0);
    CHECK(waitpid(-1, NULL, __WALL) == -1 && errno == ECHILD);
    return verdict();
}
