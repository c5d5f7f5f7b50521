# SPDX-License-Identifier: GPL-3.0-or-later
# bpf/X.bpf.c becomes bpf/X.bpf.o (clang) and bpf/X.skel.h (bpftool), both in
# the build tree. A C file that includes "bpf/X.skel.h" says so where it is
# listed:
#	if HAVE_BPF
#	BPF_SKELETONS += bpf/X.skel.h
#	src/dir/file.$(OBJEXT): bpf/X.skel.h
#	endif
# <asm/types.h> lives in the multiarch folder, which clang does not search
# for its BPF target.
EXTRA_DIST += bpf/print.h bpf/kernel.h bpf/stop.h bpf/stop.bpf.c \
	bpf/print-hash.h bpf/sample-record.h bpf/sample.bpf.c

BPF_INCLUDED = bpf/print.h bpf/print-hash.h bpf/kernel.h bpf/stop.h \
	bpf/sample-record.h
BPF_CLANG_FLAGS = -target bpf -mcpu=v3 -O2 -g -Wall -Werror \
	-Wno-unused-function -I$(top_srcdir) \
	-idirafter /usr/include/`$(CC) -print-multiarch 2>/dev/null`

bpf/%.bpf.o: bpf/%.bpf.c $(BPF_INCLUDED)
	@$(MKDIR_P) bpf
	$(AM_V_GEN)$(CLANG) $(BPF_CLANG_FLAGS) -c $< -o $@

# The object ends in .bpf.o: bpftool would name the skeleton X_bpf, as we want,
# but takes the name from the path, which is said here to be sure.
bpf/%.skel.h: bpf/%.bpf.o
	$(AM_V_GEN)$(BPFTOOL) gen skeleton $< name $*_bpf >$@.tmp && mv $@.tmp $@

.PRECIOUS: bpf/%.bpf.o

if HAVE_BPF
BUILT_SOURCES += $(BPF_SKELETONS)
CLEANFILES += $(BPF_SKELETONS) $(BPF_SKELETONS:.skel.h=.bpf.o)
endif
