# SPDX-License-Identifier: GPL-3.0-or-later
libplayhead_a_SOURCES += src/stop/stop.h

if HAVE_BPF
BPF_SKELETONS += bpf/stop.skel.h
endif
