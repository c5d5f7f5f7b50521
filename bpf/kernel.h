/* SPDX-License-Identifier: MIT OR GPL-2.0-or-later */
/*
 * kernel.h - what a BPF program of ours needs to know of the kernel: the
 * stable parts from its UAPI headers, and of internal structs only the fields
 * that are used, relocated to the running kernel at load time (CO-RE). No
 * vmlinux.h: a build needs no BTF of the machine that it runs on.
 */
#ifndef PLAYHEAD_KERNEL_H
#define PLAYHEAD_KERNEL_H

#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;
typedef __s64 s64;

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct task_struct {
	int pid;
	int tgid;
};

#pragma clang attribute pop

#endif
