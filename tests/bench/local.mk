# SPDX-License-Identifier: GPL-3.0-or-later
# sample-cost: the price of one sample, by sampler and shape of memory.
check_PROGRAMS += tests/bench/sample-cost
tests_bench_sample_cost_SOURCES = tests/bench/sample-cost.c
tests_bench_sample_cost_LDADD = $(PLAYHEAD_LIBS)
