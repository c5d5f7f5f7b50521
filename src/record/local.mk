# SPDX-License-Identifier: GPL-3.0-or-later
libplayhead_a_SOURCES += \
	src/record/record.h src/record/internal.h src/record/call.c \
	src/record/effects.c src/record/emit.c src/record/exec.c \
	src/record/hooks.c src/record/launch.c src/record/memory.c \
	src/record/open.c src/record/process.c src/record/samples.c \
	src/record/sched.c src/record/session.c src/record/signal.c \
	src/record/strong.c src/record/task.c src/record/trap.c \
	src/record/written.c
