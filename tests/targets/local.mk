# SPDX-License-Identifier: GPL-3.0-or-later
# Programs to record, one behaviour and one file each. They are not built as the
# rest is: no sanitizers, the flags that users have.
TARGETS = \
	tests/targets/abort \
	tests/targets/affinity \
	tests/targets/avx-signal \
	tests/targets/big-data \
	tests/targets/brk \
	tests/targets/busy-threads \
	tests/targets/calls-odd \
	tests/targets/clocks \
	tests/targets/compute \
	tests/targets/condvars \
	tests/targets/cpuid \
	tests/targets/deep-stack \
	tests/targets/dlopen \
	tests/targets/exec-thread \
	tests/targets/exit-code \
	tests/targets/exit-thread \
	tests/targets/fault-storm \
	tests/targets/files \
	tests/targets/fork-tree \
	tests/targets/fork-wait \
	tests/targets/fpe \
	tests/targets/kill-all \
	tests/targets/int80 \
	tests/targets/long-run \
	tests/targets/many-calls \
	tests/targets/mmap-kinds \
	tests/targets/mremap \
	tests/targets/nanosleep \
	tests/targets/pipes \
	tests/targets/polling \
	tests/targets/proc-self \
	tests/targets/pty \
	tests/targets/random \
	tests/targets/rep-string \
	tests/targets/robust \
	tests/targets/segv \
	tests/targets/self-modify \
	tests/targets/sendmsg \
	tests/targets/setjmp \
	tests/targets/shared-fork \
	tests/targets/sig-altstack \
	tests/targets/sig-restart \
	tests/targets/sigbus \
	tests/targets/signal-thread \
	tests/targets/signals \
	tests/targets/sigprof-longjmp \
	tests/targets/sigwait \
	tests/targets/spawn \
	tests/targets/spin-flag \
	tests/targets/spin-memory \
	tests/targets/spin-signal \
	tests/targets/static \
	tests/targets/stop-cont \
	tests/targets/thread-storm \
	tests/targets/threads \
	tests/targets/timers \
	tests/targets/tls \
	tests/targets/trap-blocked \
	tests/targets/trap-preempt \
	tests/targets/tsc \
	tests/targets/unknown-call \
	tests/targets/vfork-exec

TARGET_CFLAGS = -std=gnu11 -D_GNU_SOURCE -g -O2 -Wall -Wno-infinite-recursion
TARGET_LIBS = -lpthread

$(TARGETS): tests/targets/%: tests/targets/%.c tests/targets/target.h
	@$(MKDIR_P) tests/targets
	$(AM_V_CCLD)$(CC) $(TARGET_CFLAGS) $< -o $@ $(TARGET_LIBS)

tests/targets/compute: TARGET_CFLAGS += -O1
tests/targets/deep-stack: TARGET_CFLAGS += -O0
tests/targets/busy-threads: TARGET_CFLAGS += -O1
tests/targets/static: TARGET_CFLAGS += -static
tests/targets/dlopen: TARGET_LIBS += -ldl

check_DATA += $(TARGETS)
CLEANFILES += $(TARGETS)
EXTRA_DIST += tests/targets/target.h $(TARGETS:=.c)
