# SPDX-License-Identifier: GPL-3.0-or-later
libplayhead_a_SOURCES += \
	src/stop/arm.c \
	src/stop/bpf.c \
	src/stop/debugreg.c \
	src/stop/eval.c \
	src/stop/hole.c src/stop/hole.h \
	src/stop/internal.h \
	src/stop/patch.c \
	src/stop/relocate.c src/stop/relocate.h \
	src/stop/run.c \
	src/stop/step.c \
	src/stop/stop.h \
	src/stop/stops.c \
	src/stop/tramp-filter.c src/stop/tramp-settle.c src/stop/tramp.c src/stop/tramp.h src/stop/tramp-emit.c \
	src/stop/tramp-hash.c src/stop/tramp-hash.h \
	src/stop/wait.c

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test-relocate tests/unit/test-stop tests/unit/test-stop-real \
	tests/unit/test-stop-watch
TESTS += tests/unit/test-relocate tests/unit/test-stop tests/unit/test-stop-real \
	tests/unit/test-stop-watch
tests_unit_test_stop_real_SOURCES = tests/unit/test-stop-real.c tests/unit/stop-child.h
tests_unit_test_stop_real_LDADD = $(PLAYHEAD_LIBS) $(CMOCKA_LIBS)
tests_unit_test_relocate_SOURCES = tests/unit/test-relocate.c
tests_unit_test_relocate_LDADD = $(PLAYHEAD_LIBS) $(CMOCKA_LIBS)
tests_unit_test_stop_SOURCES = tests/unit/test-stop.c \
	tests/unit/stop-child.h tests/unit/stop-fns.h tests/unit/stop-truth.h
tests_unit_test_stop_LDADD = $(PLAYHEAD_LIBS) $(CMOCKA_LIBS)
tests_unit_test_stop_watch_SOURCES = tests/unit/test-stop-watch.c \
	tests/unit/stop-child.h tests/unit/stop-fns.h tests/unit/stop-truth.h
tests_unit_test_stop_watch_LDADD = $(PLAYHEAD_LIBS) $(CMOCKA_LIBS)
endif

if HAVE_BPF
BPF_SKELETONS += bpf/stop.skel.h
src/stop/bpf.$(OBJEXT): bpf/stop.skel.h
endif

# By hand: which share of instructions a trampoline can serve; what a pass costs.
check_PROGRAMS += tests/bench/stop-coverage tests/bench/stop-passes
tests_bench_stop_passes_SOURCES = tests/bench/stop-passes.c
tests_bench_stop_passes_LDADD = $(PLAYHEAD_LIBS)
tests_bench_stop_coverage_SOURCES = tests/bench/stop-coverage.c
tests_bench_stop_coverage_LDADD = $(PLAYHEAD_LIBS)
