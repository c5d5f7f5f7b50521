# SPDX-License-Identifier: GPL-3.0-or-later
bin_PROGRAMS += playhead
playhead_SOURCES = src/main.c src/cmd.h
playhead_SOURCES += src/cmd-record.c
playhead_SOURCES += src/cmd-events.c src/cmd-info.c src/cmd-list.c src/cmd-rm.c
playhead_SOURCES += src/cmd-replay.c src/cmd-verify.c
playhead_SOURCES += src/cmd-gdb.c src/cmd-serve.c
playhead_SOURCES += src/cmd-doctor.c src/cmd-report.c src/cmd-samples.c
playhead_LDADD = $(PLAYHEAD_LIBS)
EXTRA_playhead_DEPENDENCIES = $(PLAYHEAD_DEPS)
EXTRA_DIST += src/HACKING COPYING README bootstrap .clang-format
