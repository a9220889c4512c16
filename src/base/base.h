/* SPDX-License-Identifier: MIT */
/* The words every room shares: integer types, address types, small macros. Freestanding-clean. */
#ifndef BASE_H
#define BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;

/* An address of the program's own code, and an address in the code cache as the program sees it.
 * Mixing them is the classic bug of this field, so the compiler keeps them apart. */
struct app_pc {
    u64 v;
};
struct cache_pc {
    u64 v;
};

#define ARRAY_LEN(a)      (sizeof(a) / sizeof((a)[0]))
#define MIN(a, b)         ((a) < (b) ? (a) : (b))
#define MAX(a, b)         ((a) > (b) ? (a) : (b))
#define ALIGN_UP(x, to)   (((x) + (to)-1) & ~((u64)(to)-1))
#define ALIGN_DOWN(x, to) ((x) & ~((u64)(to)-1))

#define load_acquire(p)     __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define load_relaxed(p)     __atomic_load_n((p), __ATOMIC_RELAXED)
#define store_release(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define store_relaxed(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)

#endif
