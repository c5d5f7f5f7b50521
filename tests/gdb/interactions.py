# SPDX-License-Identifier: GPL-3.0-or-later
"""What a person does in gdb, one check each, on the recording of debuggee."""
import os
import re
import sys

import gdb

sys.path.insert(0, os.environ["PLAYHEAD_TESTS"])
from checks import (check, end, event, expect, expect_error, expect_match, frames, fresh,
                    function, go, reg, registers, run, value)

run("set width 0")
run("set height 0")
run("set confirm off")


def select_other_thread():
    """One that is not the thread that the recording stands in."""
    now = gdb.selected_thread().ptid
    for thread in gdb.selected_inferior().threads():
        if thread.ptid != now:
            thread.switch()
            return
    raise AssertionError("there is one thread only")


@check("attach: a stopped frame with symbols")
def _():
    expect(function(), "_start")
    expect_match(r"ld-linux", run("info sharedlibrary"))


@check("break and continue")
def _():
    fresh("main")
    run("continue")
    expect(function(), "main")


@check("the backtrace goes through libc")
def _():
    expect(frames()[0], "main")
    expect_match(r"libc.*so", run("info sharedlibrary"))
    expect(frames()[-1] in ("_start", "main", "__libc_start_main_impl"), True)


@check("the program's file and libraries come from the recording")
def _():
    expect_match(r"target:|debuggee", run("info files"))


@check("general registers, segments, flags")
def _():
    text = run("info registers")
    for name in ("rax", "rip", "eflags", "cs", "gs"):
        expect_match(r"(?m)^%s\s" % name, text)
    expect(reg("cs"), 0x33)
    expect_match("fs_base", run("info registers fs_base gs_base"))
    expect(value("$rip == (long)$pc"), 1)


@check("vector registers of the recorded CPU")
def _():
    flags = open("/proc/cpuinfo").read()
    if " avx " in flags:
        expect_match("v4_int64", run("print $ymm0"))
    if " avx512f " in flags:
        expect_match("v8_int64", run("print $zmm0"))
        expect_match("v8_int64", run("print $zmm31"))
    expect_match("uint128", run("print $xmm15"))
    expect(value("$mxcsr") & 0x1F80, 0x1F80)
    expect(value("$fctrl"), 0x37F)


@check("fs_base holds the thread")
def _():
    base = reg("fs_base")
    expect(value("*(unsigned long *)%d" % base), base)


@check("a thread-local variable")
def _():
    expect(value("tls_var"), 7)


@check("auxv and mappings as recorded")
def _():
    expect_match("AT_ENTRY", run("info auxv"))
    text = run("info proc mappings")
    expect_match(r"debuggee", text)
    expect_match(r"\[stack\]", text)


@check("find: a hit and a miss")
def _():
    expect_match("1 pattern found", run('find &area[0], +256, \'n\', \'e\', \'e\', \'d\''))
    expect_match("Pattern not found", run('find &area[0], +256, \'z\', \'q\', \'z\''))


@check("memory that is not mapped")
def _():
    expect_error("x/4x 0x10", "Cannot access memory")


@check("no siginfo where there is no signal")
def _():
    expect_error("print $_siginfo.si_signo", "Unable to read siginfo|E")


@check("step, next, finish, until")
def _():
    fresh("fill")
    run("continue")
    run("next")
    run("next")
    run("next")
    run("step")
    run("delete")
    while function() == "fill":
        run("step")
    expect(function(), "callee")
    run("finish")
    expect(function(), "fill")
    run("until")


@check("a condition evaluated at the target")
def _():
    fresh("callee if counter == 17")
    expect_match("target", run("show breakpoint condition-evaluation"))
    run("continue")
    expect(function(), "callee")
    expect(value("counter"), 17)


@check("an ignore count")
def _():
    fresh("callee")
    run("ignore $bpnum 9")
    run("continue")
    expect(value("counter"), 9)


@check("a hardware breakpoint, told as one")
def _():
    fresh()
    run("hbreak recurse")
    text = go("continue")
    expect(function(), "recurse")
    expect_match("Breakpoint", text)


@check("watch stops after the write, and again")
def _():
    fresh("fill")
    run("continue")
    run("delete")
    run("watch counter")
    for n in range(1, 4):
        expect_match("New value = %d" % n, go("continue"))
        expect(value("counter"), n)


@check("rwatch stops at reads alone")
def _():
    run("handle SIGUSR1 nostop noprint")
    fresh("copy")
    run("continue")
    run("delete")
    run("rwatch handled")
    expect_match("Value = ", go("continue"))
    expect(function(), "on_usr1")


@check("awatch stops at writes")
def _():
    fresh("copy")
    run("continue")
    run("delete")
    run("awatch items[3].name")
    run("awatch items[3].id")
    expect_match("Value|Old value", go("continue"))
    expect(function(), "fill")


@check("watch of a write by rep movs, and back: pc before it")
def _():
    fresh("copy")
    run("continue")
    run("delete")
    run("watch area[70]")
    run("continue")
    expect(function(), "copy")
    was = value("area[70]")
    expect(was, ord("rep movs writes this"[6]))
    run("reverse-continue")
    expect(function(), "copy")
    expect(value("area[70]"), 0)
    expect_match("movs", run("x/i $pc"))


@check("a signal stops, its siginfo is there")
def _():
    run("handle SIGUSR1 stop print")
    fresh()
    expect_match("SIGUSR1", go("continue"))
    expect(value("$_siginfo.si_signo"), 10)
    expect(value("$_siginfo._sifields._kill.si_pid"), gdb.selected_inferior().pid)


@check("a signal is delivered: its handler runs")
def _():
    run("break on_usr1")
    run("continue")
    expect(function(), "on_usr1")
    expect_match("signal handler called", run("backtrace"))


@check("handle nostop: a signal passes")
def _():
    run("handle SIGUSR1 nostop noprint")
    fresh("last_words")
    run("continue")
    expect(function(), "last_words")


@check("threads: all are listed, each has its own variables")
def _():
    run("handle SIGUSR1 nostop noprint")
    fresh("thread_main")
    run("continue")
    run("continue")
    expect(len(gdb.selected_inferior().threads()) >= 2, True)
    run("next")
    run("next")
    expect(value("tls_var") in (100, 101), True)
    was = gdb.selected_thread()
    gdb.selected_inferior().threads()[-1].switch()
    expect(value("tls_var"), 7)
    was.switch()


@check("thread 2; reverse-stepi, then stepi")
def _():
    run("delete")
    select_other_thread()
    run("reverse-stepi")  # out of the call that it waits in
    was = registers()
    run("reverse-stepi")
    now = registers()
    expect(was == now, False)
    run("stepi")
    expect(registers(), was)


@check("the end of the log, then the exit")
def _():
    run("delete")
    text = go("continue")
    expect_match("No more reverse-execution history", text)
    expect_match("exit", " ".join(frames()))
    text = go("continue")
    expect_match("exited with code 03", text)
    expect(len(gdb.selected_inferior().threads()), 0)


@check("run: from the top again, breakpoints kept")
def _():
    run("break fill")
    run("run")
    expect(function(), "fill")
    expect(value("counter"), 0)


@check("start stops in main")
def _():
    run("delete")
    run("start")
    expect(function(), "main")


@check("the start of history, twice, and forward again")
def _():
    run("delete")
    for _i in range(2):
        expect_match("No more reverse-execution history", go("reverse-continue"))
        expect(function(), "_start")
    run("break main")
    run("continue")
    expect(function(), "main")


@check("100 reverse-stepi and 100 stepi: the same registers and memory", 120)
def _():
    fresh("recurse if n == 3")
    run("continue")
    run("delete")
    states = []
    for _i in range(100):
        states.append((registers(), value("counter")))
        run("reverse-stepi")
    for state in reversed(states):
        run("stepi")
        expect((registers(), value("counter")), state)


@check("reverse-step ends in the callee's last line")
def _():
    fresh("copy")
    run("continue")
    run("up")
    run("delete")
    run("reverse-step")
    while function() == "copy":
        run("reverse-step")
    for _i in range(3):
        if function() == "main":
            run("reverse-step")
    expect(function(), "recurse")


@check("reverse-next over recursion")
def _():
    fresh("copy")
    run("continue")
    run("delete")
    run("reverse-finish")
    expect(function(), "main")
    for _i in range(2):
        run("reverse-next")
        expect(function(), "main")


@check("reverse-finish to the call")
def _():
    fresh("recurse if n == 2")
    run("continue")
    run("delete")
    run("reverse-finish")
    expect(function(), "recurse")
    expect(value("n"), 3)
    expect_match("call", run("x/i $pc"))


@check("reverse-continue from a breakpoint goes to the one before")
def _():
    fresh("callee")
    for _i in range(5):
        run("continue")
    expect(value("counter"), 4)
    run("reverse-continue")
    expect(value("counter"), 3)
    run("reverse-continue 3")
    expect(value("counter"), 0)


@check("a condition that holds only far back")
def _():
    fresh("last_words")
    run("continue")
    run("delete")
    run("break callee if counter == 2")
    text = go("reverse-continue")
    expect_match("Breakpoint", text)
    expect(function(), "callee")
    expect(value("counter"), 2)


@check("watch backwards: the last write, pc before it")
def _():
    fresh("last_words")
    run("continue")
    run("delete")
    last = value("counter")
    run("watch counter")
    text = go("reverse-continue")
    expect_match("Old value = %d" % last, text)
    expect(value("counter"), last - 1)
    expect(function(), "callee")
    run("stepi")
    expect(value("counter"), last)


@check("software watchpoints work backwards", 120)
def _():
    fresh("callee")
    run("continue")
    run("continue")
    run("delete")
    run("set can-use-hw-watchpoints 0")
    run("watch counter")
    expect_match("Old value = 1", go("reverse-continue"))
    run("set can-use-hw-watchpoints 1")


@check("print f(3)")
def _():
    fresh("copy")
    run("continue")
    was = registers()
    expect(value("twice(3)"), 6)
    expect(registers(), was)


@check("print puts: nested calls, the text is shown")
def _():
    expect_match(r"\d", run('print (int)puts("hi")'))


@check("the recording runs on after calls, as recorded")
def _():
    run("delete")
    run("break last_words")
    run("continue")
    expect(function(), "last_words")
    expect(value("counter"), 40 + 5 + 100 + 101 + 40 + 40 + 40)


@check("a call that crashes leaves the recording whole")
def _():
    fresh("copy")
    run("continue")
    was = registers()
    counter = value("counter")
    run("set unwindonsignal on")
    expect_error("print crash()", "was signaled")
    expect(registers(), was)
    run("set unwindonsignal off")
    run("delete")
    run("break last_words")
    run("continue")
    expect(function(), "last_words")
    expect(value("counter") > counter, True)


@check("a call that hits a breakpoint, and back to the recording")
def _():
    fresh("copy")
    run("continue")
    was = registers()
    run("break twice")
    expect_error("print twice(4)", "stopped while in")
    expect(function(), "twice")
    run("delete")
    run("monitor goto-event %d" % event())
    fresh("copy")
    run("continue")
    expect(registers(), was)


@check("set var and set a register, gone when going back")
def _():
    fresh("callee")
    run("continue")
    run("continue")
    run("set var counter = 1000")
    expect(value("counter"), 1000)
    run("set var $rax = 77")
    expect(value("$rax"), 77)
    run("stepi")
    run("reverse-stepi")
    run("stepi")
    expect(value("counter"), 1)


@check("a changed variable is seen by what runs next")
def _():
    fresh("callee")
    run("continue")
    run("set var counter = 500")
    run("finish")
    expect(value("counter"), 501)
    run("monitor goto-event %d" % event())


@check("monitor help lists every command")
def _():
    text = run("monitor help")
    for name in ("samples top", "samples list", "samples show", "goto-sample",
                 "next-sample", "prev-sample", "goto-event", "when", "info"):
        expect_match(name, text)
    expect_match("goto-sample N", run("monitor help goto-sample"))


@check("an unknown monitor command is an error that says so")
def _():
    expect_error("monitor nonsense", "rror")


@check("monitor info and when")
def _():
    expect_match("debuggee", run("monitor info"))
    expect_match(r"event \d+ of \d+", run("monitor when"))


@check("goto-event out of range names the range")
def _():
    expect_error("monitor goto-event 999999", "rror")


@check("goto-event moves gdb along")
def _():
    fresh()
    run("goto-event %d" % (event() + 3))
    pc = reg("pc")
    expect_match(hex(pc)[2:], run("info registers rip"))


@check("detach")
def _():
    run("delete")
    run("detach")
    expect(gdb.selected_inferior().pid, 0)


end()
