# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks inside gdb, printed as TAP to the file that $PLAYHEAD_TAP names."""
import os
import re
import signal
import threading
import traceback

import gdb

_out = open(os.environ["PLAYHEAD_TAP"], "a", buffering=1)
_n = _failed = 0
_only = os.environ.get("PLAYHEAD_ONLY")  # a pattern: to run a few by hand


def _too_slow(name):
    """gdb waits for the server, deaf to Python: Ctrl-C did nothing."""
    _out.write("not ok %d - %s\n# took too long, and Ctrl-C does not end it\n1..%d\n"
               % (_n + 1, name, _n + 1))
    os.kill(os.getpid(), signal.SIGKILL)


class Watchdog:
    def __init__(self, name, limit):
        self.over = threading.Event()
        self.fired = False
        self.thread = threading.Thread(target=self.wait, args=(name, limit), daemon=True)
        self.thread.start()

    def wait(self, name, limit):
        if not self.over.wait(limit):
            self.fired = True
            os.kill(os.getpid(), signal.SIGINT)
            if not self.over.wait(10):
                _too_slow(name)


def check(name, limit=60):
    """Decorator: run the function now as one check; an exception fails it."""

    def now(fn):
        global _n, _failed
        if _only and not re.search(_only, name):
            return fn
        why = None
        dog = Watchdog(name, limit)
        try:
            fn()
        except (Exception, KeyboardInterrupt):
            why = traceback.format_exc()
        dog.over.set()
        if dog.fired:
            why = (why or "") + "\ntook longer than %d s" % limit
        _n += 1
        if why:
            _failed += 1
            for line in why.rstrip().split("\n"):
                _out.write("# %s\n" % line)
        _out.write("%sok %d - %s\n" % ("not " if why else "", _n, name))
        return fn

    return now


def note(text):
    _out.write("# %s\n" % text)


def end():
    _out.write("1..%d\n" % _n)
    _out.close()


def run(command):
    return gdb.execute(command, to_string=True)


def go(command):
    """Like run() for what moves: with what gdb tells of the stop."""
    # Stops are told on gdb's own output, a file here, whatever is redirected.
    gdb.flush()
    at = os.path.getsize(os.environ["PLAYHEAD_LOG"])
    try:
        gdb.execute(command)
    finally:
        gdb.flush()
    with open(os.environ["PLAYHEAD_LOG"], errors="replace") as log:
        log.seek(at)
        return log.read()


def value(expression):
    return int(gdb.parse_and_eval(expression))


def reg(name):
    found = gdb.parse_and_eval("$" + name)
    if found.type.code == gdb.TYPE_CODE_FLAGS:
        found = found.cast(gdb.lookup_type("int"))
    return int(found) & 0xFFFFFFFFFFFFFFFF


def function():
    return gdb.selected_frame().name()


def frames():
    names, f = [], gdb.newest_frame()
    while f is not None:
        names.append(f.name())
        f = f.older()
    return names


def expect(got, want, what=""):
    if got != want:
        raise AssertionError("%s%r, expected %r" % (what and what + ": ", got, want))


def expect_match(pattern, text):
    if not re.search(pattern, text):
        raise AssertionError("no %r in %r" % (pattern, text[:600]))


def expect_error(command, pattern):
    try:
        text = run(command)
    except gdb.error as e:
        expect_match(pattern, str(e))
        return
    raise AssertionError("%r gave no error but %r" % (command, text[:200]))


REGISTERS = ("rax rbx rcx rdx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15 rip "
             "eflags fs_base gs_base").split()


def registers():
    return {r: reg(r) for r in REGISTERS}


def fresh(*breaks):
    """From the start again, with these breakpoints alone."""
    run("set exec-direction forward") if direction() == "reverse" else None
    run("delete")
    for b in breaks:
        run("break " + b)
    run("monitor goto-event %d" % START)


def direction():
    return run("show exec-direction").split()[-1].rstrip(".")


def event():
    return int(re.search(r"event (\d+)", run("monitor when")).group(1))


START = event() if gdb.selected_inferior().pid else 0
