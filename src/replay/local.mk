# SPDX-License-Identifier: GPL-3.0-or-later
libplayhead_a_SOURCES += src/replay/timeline.h src/replay/replay.h \
	src/replay/apply.c src/replay/backward.c src/replay/breaks.c \
	src/replay/chase.c src/replay/checkpoint.c src/replay/diverge.c src/replay/divert.c \
	src/replay/forward.c src/replay/host.c src/replay/pos.c \
	src/replay/rcontinue.c src/replay/seek.c src/replay/session.c \
	src/replay/target.c src/replay/timeline.c src/replay/verify.c \
	src/replay/window.c src/replay/world.c
libplayhead_a_SOURCES += src/replay/gdb.h src/replay/gdb-host.h src/replay/gdb-names.h \
	src/replay/gdb-divert.c src/replay/gdb-files.c src/replay/gdb-monitor.c \
	src/replay/gdb-names.c src/replay/gdb-points.c src/replay/gdb-resume.c \
	src/replay/gdb-target.c src/replay/gdb-tls.c

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test-timeline tests/targets/steps
TESTS += tests/unit/test-timeline
tests_unit_test_timeline_SOURCES = tests/unit/test-timeline.c
tests_unit_test_timeline_LDADD = $(PLAYHEAD_LIBS) $(CMOCKA_LIBS)
tests_unit_test_timeline_DEPENDENCIES = $(PLAYHEAD_DEPS) tests/targets/steps
tests_targets_steps_SOURCES = tests/targets/steps.c
tests_targets_steps_CFLAGS = -O2 -g -fno-stack-protector -fno-pie -fcf-protection=none
tests_targets_steps_LDFLAGS = -static -nostdlib -no-pie
endif
