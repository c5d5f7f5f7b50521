# SPDX-License-Identifier: GPL-3.0-or-later
# The program that `./bootstrap demo` records; see demo/run.
noinst_PROGRAMS += demo/demo
demo_demo_SOURCES = demo/demo.c
demo_demo_CFLAGS = -std=gnu11 -g -Og -fno-inline -fno-ipa-cp $(WARN_CFLAGS)
demo_demo_LDFLAGS =
EXTRA_DIST += demo/run
