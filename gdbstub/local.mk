# SPDX-License-Identifier: GPL-3.0-or-later
libgdbstub_a_SOURCES += \
	gdbstub/agent.c gdbstub/agent.h \
	gdbstub/codec.c gdbstub/codec.h \
	gdbstub/link.c gdbstub/link.h \
	gdbstub/listen.c gdbstub/listen.h \
	gdbstub/monitor.c gdbstub/monitor.h \
	gdbstub/points.c \
	gdbstub/private.h \
	gdbstub/query.c \
	gdbstub/regs.c gdbstub/regs.h \
	gdbstub/resume.c \
	gdbstub/server.c gdbstub/server.h \
	gdbstub/signals.c gdbstub/signals.h \
	gdbstub/state.c \
	gdbstub/stub.c gdbstub/stub.h \
	gdbstub/target.h \
	gdbstub/vfile.c
dist_pkgdata_DATA += gdbstub/playhead-gdb.py
if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test-gdbstub tests/unit/test-server
TESTS += tests/unit/test-gdbstub tests/unit/test-server
tests_unit_test_gdbstub_SOURCES = tests/unit/test-gdbstub.c tests/unit/fake-target.h
tests_unit_test_gdbstub_LDADD = $(PLAYHEAD_LIBS) $(CMOCKA_LIBS)
tests_unit_test_server_SOURCES = tests/unit/test-server.c tests/unit/fake-target.h
tests_unit_test_server_LDADD = $(PLAYHEAD_LIBS) $(CMOCKA_LIBS)
endif
