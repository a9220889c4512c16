/* SPDX-License-Identifier: MIT */
/* Flags set before an indirect jump are read behind it, although another target, 256 KB away and so in the same entry of
 * gait's jump table, has been jumped to before: compilers do this where they thread a test into a switch. */
#include <stdio.h>

__asm__(".text\n.p2align 4\n"
        "jump:  cmpl $1, %edi\n" /* what the target will read */
        "       jmp *%rsi\n"
        ".p2align 4\n"
        "plain: xorl %eax, %eax\n" /* flags are dead here */
        "       ret\n"
        "       .skip 0x40000 - 3\n" /* the same low 18 bits */
        "reads: jne 1f\n"
        "       movl $1, %eax\n"
        "       ret\n"
        "1:     movl $2, %eax\n"
        "       ret\n");
extern int jump(int n, const void *target);
extern const char plain[], reads[];

int main(void)
{
    int counts[3] = {0};
    if (reads - plain != 0x40000)
        return 2;
    for (int i = 0; i < 1000; i++) {
        counts[jump(i % 2, plain)]++;
        counts[jump(i % 2, reads)]++;
    }
    printf("%d %d %d\n", counts[0], counts[1], counts[2]);
    return counts[0] == 1000 && counts[1] == 500 && counts[2] == 500 ? 0 : 1;
}
