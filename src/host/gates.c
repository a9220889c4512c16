/* SPDX-License-Identifier: MIT */
/* Calling threads in: they come by at their gates, and those that rest in the program's own code (guest/rest.c) by a signal. */
#include "host/process.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

/* It may come back by itself meanwhile; then it waits until it can say whether there will be a signal. */
static void call_back(const struct process *p, struct thread *t)
{
    u32 native = REST_native;
    siginfo_t info = {.si_signo = SIGTRAP, .si_code = CALL_BACK_CODE};
    info.si_value.sival_ptr = (void *)(uintptr_t)t->self;
    if (!__atomic_compare_exchange_n(&t->resting, &native, REST_called, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return;
    if (p->run->stress.slow)
        usleep(1000);
    bool sent = syscall(SYS_rt_tgsigqueueinfo, p->pid, pids_of_thread(p, t), SIGTRAP, &info) == 0;
    store_release(&t->resting, sent ? REST_sent : REST_native);
}

void gates_remind(const struct run *r)
{
    for (size_t k = 0; k < r->processes.n; k++) {
        struct process *p = r->processes.v[k];
        for (u32 i = 0; i < MIN(load_acquire(&p->control->blocks), (u32)WIRE_THREADS); i++) {
            struct thread *t = process_thread(p, i);
            if (load_relaxed(&t->quiet) && load_relaxed(&t->resting) == REST_none)
                store_relaxed(&t->limit, 0);
        }
    }
}

/* A thread that opens its gate, or rests, looks afterwards whether there is something for it: so it sees that, or is seen here. */
void gates_close(struct process *p)
{
    for (u32 i = 0; i < MIN(load_acquire(&p->control->blocks), (u32)WIRE_THREADS); i++) {
        struct thread *t = process_thread(p, i);
        __atomic_store_n(&t->limit, 0, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&t->resting, __ATOMIC_SEQ_CST) == REST_native)
            call_back(p, t);
    }
}
