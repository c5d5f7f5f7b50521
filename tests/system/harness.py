# SPDX-License-Identifier: GPL-3.0-or-later
"""Run playhead and other programs with time limits; print TAP."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

TOP = os.path.abspath(os.environ.get("top_builddir", os.path.join(os.path.dirname(__file__), "../..")))
PLAYHEAD = os.environ.get("PLAYHEAD", os.path.join(TOP, "playhead"))
TARGETS = os.path.join(TOP, "tests/targets")


class Result:
    """How a program ended: status as a shell gives it, -1 if it took too long."""

    def __init__(self, status, out, err, seconds):
        self.status, self.out, self.err, self.seconds = status, out, err, seconds


def shell_status(code):
    return 128 - code if code < 0 else code


def run(argv, cwd=None, input=None, timeout=60, env=None):
    """The program gets a session of its own; all of it is killed after @timeout."""
    stdin = open(input, "rb") if input else subprocess.DEVNULL
    begin = time.monotonic()
    p = subprocess.Popen(argv, cwd=cwd, stdin=stdin, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, start_new_session=True, env=env)
    try:
        out, err = p.communicate(timeout=timeout)
        status = shell_status(p.returncode)
    except subprocess.TimeoutExpired:
        os.killpg(p.pid, signal.SIGKILL)
        out, err = p.communicate()
        status = -1
    finally:
        if input:
            stdin.close()
    return Result(status, out, err, time.monotonic() - begin)


def playhead(*args, **kw):
    return run((PLAYHEAD,) + args, **kw)


def scratch():
    """A folder for this run, also the home of its recordings. Not below the
    build tree: /tmp may be another file system, which is what users have."""
    top = tempfile.mkdtemp(prefix="playhead-test.")
    os.environ["PLAYHEAD_DIR"] = os.path.join(top, "traces")
    return top


def short(b, n=200):
    s = b.decode(errors="replace") if isinstance(b, bytes) else str(b)
    return s if len(s) <= n else s[:n // 2] + " ... " + s[-n // 2:]


class Tap:
    def __init__(self):
        self.n = self.failed = 0

    def case(self, name, why=None, skip=None):
        """@why: None if it passed, else what was wrong (one or more lines)."""
        self.n += 1
        for line in (why or "").split("\n"):
            if line:
                print("# " + line)
        print("%sok %d - %s%s" % ("not " if why else "", self.n, name,
                                  " # SKIP " + skip if skip else ""))
        sys.stdout.flush()
        self.failed += bool(why)

    def end(self):
        print("1..%d" % self.n)
        return 1 if self.failed else 0


def remove(path):
    shutil.rmtree(path, ignore_errors=True)
