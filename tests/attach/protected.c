/* SPDX-License-Identifier: MIT */
/* A process that may not be traced by its own user; with an argument, one that has a filter for system calls instead. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog filter = {1, &allow};
    (void)argv;
    if (argc > 1) {
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
            return 1;
    } else if (prctl(PR_SET_DUMPABLE, 0)) {
        return 1;
    }
    setvbuf(stdout, NULL, _IONBF, 0);
    puts("ready");
    for (;;) {
        usleep(100000);
        puts("round");
    }
}
