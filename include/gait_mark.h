/* SPDX-License-Identifier: MIT */
/* Marks in a program, for gait: instructions that do nothing, and cost nothing where nobody looks.
 *
 *     gait_start();                recording begins here, with gait record --marks
 *     solve(system);
 *     gait_mark(1);                gait dump shows a mark with this number
 *     print(system);
 *     gait_stop();                 and ends
 *
 * See gait-record(1). */
#ifndef GAIT_MARK_H
#define GAIT_MARK_H

/* nopl 0x47410000 + n(%rax, %rax, 1): no compiler makes that. */
#define GAIT_MARK_NOP(n) __asm__ volatile(".byte 0x0f, 0x1f, 0x84, 0x00\n\t.long 0x47410000 + %c0" : : "i"(n) : "memory")

#define gait_start()   GAIT_MARK_NOP(0xfffe)
#define gait_stop()    GAIT_MARK_NOP(0xffff)
/* number: a constant below 0xfff0 */
#define gait_mark(number) GAIT_MARK_NOP(number)

#endif
