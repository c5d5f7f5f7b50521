/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * base.h - the few words every file speaks: attributes, sizes, rounding.
 */
#ifndef PLAYHEAD_BASE_H
#define PLAYHEAD_BASE_H

#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <sys/types.h>

typedef int8_t s8;
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef int64_t s64;

#define __must_check	    __attribute__((warn_unused_result))
#define __printf_like(f, a) __attribute__((format(printf, f, a)))

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define MIN(a, b)     ((a) < (b) ? (a) : (b))
#define MAX(a, b)     ((a) > (b) ? (a) : (b))

#define PAGE_BYTES   4096UL
#define PAGE_DOWN(x) ((u64)(x) & ~(PAGE_BYTES - 1))
#define PAGE_UP(x)   (((u64)(x) + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1))

/* First address that no user mapping can hold (4-level page tables). */
#define USER_TOP 0x00007ffffffff000UL

#define NSEC_PER_SEC  1000000000UL
#define NSEC_PER_MSEC 1000000UL

/* Monotonic clock in nanoseconds. */
u64 now_ns(void);

#endif
