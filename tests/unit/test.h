/* SPDX-License-Identifier: MIT */
/* Unit tests: CHECK counts and goes on, test_end says how it went. One program per file under test.
 */
#ifndef TEST_H
#define TEST_H

#include <stdio.h>
#include <stdlib.h>

static unsigned long test_passed, test_failed;

#define CHECK(cond)                                                                  \
    do {                                                                             \
        if (cond) {                                                                  \
            test_passed++;                                                           \
        } else {                                                                     \
            test_failed++;                                                           \
            fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #cond); \
        }                                                                            \
    } while (0)

/* The same with a sentence that tells which of many cases it was. */
#define CHECK_CASE(cond, ...)                                                        \
    do {                                                                             \
        if (cond) {                                                                  \
            test_passed++;                                                           \
        } else {                                                                     \
            test_failed++;                                                           \
            fprintf(stderr, "%s:%d: %s does not hold: ", __FILE__, __LINE__, #cond); \
            fprintf(stderr, __VA_ARGS__);                                            \
            fputc('\n', stderr);                                                     \
        }                                                                            \
    } while (0)

/* Print the outcome; the exit status of the test. */
static int test_end(const char *name)
{
    printf("%s: %lu passed, %lu failed\n", name, test_passed, test_failed);
    return test_failed ? 1 : 0;
}

#endif
