# SPDX-License-Identifier: GPL-3.0-or-later
# sample-cost: the price of one sample, by sampler and shape of memory.
check_PROGRAMS += tests/bench/sample-cost
tests_bench_sample_cost_SOURCES = tests/bench/sample-cost.c
tests_bench_sample_cost_LDADD = $(PLAYHEAD_LIBS)
# tests/bench/run prints ratios; run by hand, nothing of it is in make check.
check_PROGRAMS += tests/bench/work
tests_bench_work_SOURCES = tests/bench/work.c
tests_bench_work_CFLAGS = -std=gnu11 -g -O2 $(WARN_CFLAGS)
tests_bench_work_LDFLAGS =
tests_bench_work_LDADD = -lpthread
EXTRA_DIST += tests/bench/run
