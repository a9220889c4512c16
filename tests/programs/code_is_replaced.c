/* SPDX-License-Identifier: MIT */
/* Code at one address changes between calls: unmapped and another file mapped there, mapped over, moved. What runs must be
 * what is there. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, FILES = 3 };

/* A page of code that returns a number: mov eax, n; ret; with a loop in front, so that units link. */
static int code_file(int n)
{
    unsigned char code[PAGE] = {0xb9, 10,   0, 0, 0, /* mov ecx, 10 */
                                0xff, 0xc9,          /* dec ecx */
                                0x75, 0xfc,          /* jnz */
                                0xb8, 0,    0, 0, 0, /* mov eax, n */
                                0xc3};
    char path[] = "/var/tmp/gait-code-XXXXXX";
    int fd = mkstemp(path);
    unlink(path);
    memcpy(code + 10, &n, 4);
    if (fd < 0 || write(fd, code, sizeof code) != sizeof code)
        exit(2);
    return fd;
}

static int call(void *p)
{
    return ((int (*)(void))p)();
}

int main(void)
{
    int fd[FILES];
    void *at = NULL;
    for (int i = 0; i < FILES; i++)
        fd[i] = code_file(100 + i);
    for (int round = 0; round < 20; round++) {
        int i = round % FILES;
        void *p =
            mmap(at, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | (at ? MAP_FIXED : 0), fd[i], 0);
        if (p == MAP_FAILED)
            return 2;
        at = p;
        printf("%d %d\n", call(p), call(p));
        if (round % 2 && munmap(p, PAGE))
            return 2;
        if (round % 5 == 4) { /* move it away and back to another address */
            void *q = mmap(at, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED,
                           fd[(i + 1) % FILES], 0);
            void *r = mremap(q, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, (char *)at + 16 * PAGE);
            printf("%d\n", call(r));
            munmap(r, PAGE);
        }
    }
    return 0;
}
