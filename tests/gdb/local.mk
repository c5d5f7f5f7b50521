# SPDX-License-Identifier: GPL-3.0-or-later
# Python scripts run inside real gdb, each check a TAP line.
tests/gdb/debuggee: tests/gdb/debuggee.c
	@$(MKDIR_P) tests/gdb
	$(AM_V_CCLD)$(CC) -std=gnu11 -D_GNU_SOURCE -g -O1 -fno-inline $< -o $@ -lpthread
check_DATA += tests/gdb/debuggee
CLEANFILES += tests/gdb/debuggee
TESTS += tests/gdb/server.tap tests/gdb/interactions.tap tests/gdb/random-samples.tap
EXTRA_DIST += tests/gdb/server.tap tests/gdb/server.py tests/gdb/random-samples.tap tests/gdb/random-samples.py tests/gdb/interactions.tap tests/gdb/interactions.py tests/gdb/checks.py \
	tests/gdb/setup.sh tests/gdb/debuggee.c
