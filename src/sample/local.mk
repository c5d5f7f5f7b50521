# SPDX-License-Identifier: GPL-3.0-or-later
libplayhead_a_SOURCES += \
	src/sample/sampler.h src/sample/sampler-internal.h \
	src/sample/sampler.c src/sample/perf.c src/sample/ksym.c \
	src/sample/sampler-perf.c src/sample/sampler-timer.c
if HAVE_BPF
libplayhead_a_SOURCES += src/sample/sampler-bpf.c
BPF_SKELETONS += bpf/sample.skel.h
src/sample/sampler-bpf.$(OBJEXT): bpf/sample.skel.h
endif
