# SPDX-License-Identifier: GPL-3.0-or-later
"""Random samples of the recording: stand at each, look, go back, come again.

$PLAYHEAD_SAMPLES of them (4), chosen by $PLAYHEAD_SEED; $PLAYHEAD_WHAT names
the recording in the checks. $PLAYHEAD_WATCH: a variable whose last write
before each sample is looked for."""
import os
import random
import re
import sys

import gdb

sys.path.insert(0, os.environ["PLAYHEAD_TESTS"])
from checks import check, end, expect, expect_match, frames, note, reg, registers, run, value

COUNT = int(os.environ.get("PLAYHEAD_SAMPLES", "4"))
SEED = int(os.environ.get("PLAYHEAD_SEED", "0")) or random.randrange(1, 1 << 30)
WHAT = os.environ.get("PLAYHEAD_WHAT", "it")
STEPS = 50
# A program without symbols has no main, but libc calls it.
ORIGINS = {"main", "_start", "_dl_start_user", "_dl_start", "__libc_start_call_main",
           "__libc_start_main_impl", "start_thread", "clone3", "__clone3", "clone", "thread_start"}

run("set width 0")
run("set height 0")
run("set confirm off")
run("set backtrace past-main on")
run("handle all nostop noprint pass")


def samples():
    """Numbers of those of the served process."""
    pid = gdb.selected_inferior().pid
    text = run("samples list 1 100000000")
    return [int(m.group(1)) for m in
            re.finditer(r"(?m)^\s*(\d+) .*thread (\d+)\.\d+ ", text) if int(m.group(2)) == pid]


def sample_registers(number):
    text = run("samples show %d" % number)
    return {m.group(1): int(m.group(2), 16)
            for m in re.finditer(r"(?m)^\s+(\w+)\s+(0x[0-9a-f]+)$", text)}


def back(steps):
    """The states left behind by up to @steps steps backwards."""
    states = []
    for _ in range(steps):
        was = registers()
        run("reverse-stepi")
        if registers() == was:  # the start of history
            break
        states.append(was)
    return states


def last_write(variable):
    """Its last write, and forward over it again."""
    address = value("(unsigned long)&(%s)" % variable)
    word = value("*(unsigned long *)%d" % address)
    run("watch *(unsigned long *)%d" % address)
    try:
        run("reverse-continue")
    finally:
        run("delete")
    if "at the start" in run("monitor when"):
        return
    run("stepi")
    expect(value("*(unsigned long *)%d" % address), word, "after the write")


def at_origin():
    """The outermost frame says itself that it is: clone's, in a stripped libc."""
    frame = gdb.newest_frame()
    while frame.older() is not None:
        frame = frame.older()
    return frame.unwind_stop_reason() == gdb.FRAME_UNWIND_OUTERMOST


def visit(number):
    run("goto-sample %d" % number)
    want = sample_registers(number)
    expect(reg("pc"), want["rip"], "pc")
    for name in ("rax", "rbx", "rcx", "rsp", "rbp", "r12"):
        if want["orig_rax"] == 0xFFFFFFFFFFFFFFFF:
            expect(reg(name), want[name], name)
    names = frames()
    if not ORIGINS & set(names) and not at_origin():
        raise AssertionError("the backtrace ends early: %r" % names)
    for state in reversed(back(STEPS)):
        run("stepi")
        expect(registers(), state)
    if os.environ.get("PLAYHEAD_WATCH"):
        last_write(os.environ["PLAYHEAD_WATCH"])


note("seed %d" % SEED)
choose = random.Random(SEED)
all_samples = samples()
if not all_samples:
    check("%s has samples" % WHAT)(lambda: expect(bool(all_samples), True))
for _number in sorted(choose.sample(all_samples, min(COUNT, len(all_samples)))):
    check("%s: sample %d" % (WHAT, _number), 120)(lambda n=_number: visit(n))


def calls(text, pid):
    """(number, ip) of samples in system calls of process @pid."""
    found = re.finditer(r"(?m)^\s*(\d+) .*thread (\d+)\.\d+ .*(0x[0-9a-f]+).*in a system call",
                        text)
    return [(int(m.group(1)), int(m.group(3), 16)) for m in found if int(m.group(2)) == pid]


@check("%s: samples in system calls stand at the entries of their own" % WHAT, 120)
def _():
    for number, ip in calls(run("samples list 1 100000000"),
                            gdb.selected_inferior().pid)[:40]:
        run("goto-sample %d" % number)
        expect(reg("pc"), ip, "sample %d: pc" % number)


end()
