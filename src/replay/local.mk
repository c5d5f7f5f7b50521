# SPDX-License-Identifier: GPL-3.0-or-later
libplayhead_a_SOURCES += src/replay/timeline.h src/replay/replay.h \
	src/replay/apply.c src/replay/backward.c src/replay/breaks.c \
	src/replay/chase.c src/replay/checkpoint.c src/replay/diverge.c src/replay/divert.c \
	src/replay/forward.c src/replay/host.c src/replay/pos.c \
	src/replay/rcontinue.c src/replay/seek.c src/replay/session.c \
	src/replay/target.c src/replay/timeline.c src/replay/verify.c \
	src/replay/window.c src/replay/world.c

