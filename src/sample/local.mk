# SPDX-License-Identifier: GPL-3.0-or-later
libplayhead_a_SOURCES += \
	src/sample/sampler.h src/sample/sampler-internal.h \
	src/sample/sampler.c src/sample/perf.c src/sample/ksym.c \
	src/sample/sampler-perf.c src/sample/sampler-timer.c \
	src/sample/verdicts.c src/sample/verdicts.h
if HAVE_BPF
libplayhead_a_SOURCES += src/sample/sampler-bpf.c
BPF_SKELETONS += bpf/sample.skel.h
src/sample/sampler-bpf.$(OBJEXT): bpf/sample.skel.h
endif
if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test-verdicts
TESTS += tests/unit/test-verdicts
tests_unit_test_verdicts_SOURCES = tests/unit/test-verdicts.c
tests_unit_test_verdicts_LDADD = $(PLAYHEAD_LIBS) $(CMOCKA_LIBS)
endif
