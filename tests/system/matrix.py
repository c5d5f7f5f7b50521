#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Record, replay and verify every row of matrix.txt.

    matrix.py targets | programs     the rows of that set, small sizes, as TAP
    matrix.py --full [NAME...]       all rows (or these) at the sizes of real
                                     work, as a table of figures
    matrix.py --small [NAME...]      the same at small sizes
"""
import json
import os
import re
import shlex
import shutil
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness
import inputs
from harness import playhead, run, short

PYTHON = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable


class Row:
    def __init__(self, line):
        self.set, self.name, options, self.command = (x.strip() for x in line.split("|", 3))
        self.own, self.status, self.input, self.hz = False, None, None, 1000
        for o in options.split():
            key, _, value = o.partition("=")
            if key == "own":
                self.own = True
            elif key == "status":
                self.status = int(value)
            elif key == "input":
                self.input = value
            elif key == "hz":
                self.hz = int(value)
            else:
                raise ValueError("option %s of row %s" % (o, self.name))

    def argv(self, full):
        c = re.sub(r"\{(\d+)/(\d+)\}", lambda m: m.group(2 if full else 1), self.command)
        return shlex.split(c.replace("{T}", harness.TARGETS).replace("{python}", PYTHON))


def rows():
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "matrix.txt")) as f:
        return [Row(l) for l in f if l.strip() and not l.startswith("#")]


class Fail(Exception):
    pass


def same(what, got, want):
    """What both printed to both, and how they ended."""
    if got.status == -1:
        raise Fail("%s: still running after %.0f s; stderr: %s" %
                   (what, got.seconds, short(got.err)))
    if got.status != want.status:
        raise Fail("%s: status %d, not %d; stderr: %s" %
                   (what, got.status, want.status, short(got.err, 600)))
    for name, a, b in (("stdout", got.out, want.out), ("stderr", got.err, want.err)):
        if a != b:
            raise Fail("%s: %s has %d bytes, not %d:\n%s\nnot:\n%s" %
                       (what, name, len(a), len(b), short(a), short(b)))


class Figures:
    keys = ("events", "samples", "exact", "repeated", "lost", "divergences")

    def __init__(self, native, recorded, counts):
        self.native, self.recorded = native, recorded
        for k in self.keys:
            setattr(self, k, counts[k])


class Matrix:
    def __init__(self, full):
        self.full = full
        self.limit = 900 if full else 20
        self.top = harness.scratch()
        inputs.make(os.path.join(self.top, "inputs"), full)

    def fresh(self):
        """The same path for each run: it shows in what programs print."""
        cwd = os.path.join(self.top, "run")
        harness.remove(cwd)
        shutil.copytree(os.path.join(self.top, "inputs"), cwd, symlinks=True)
        return cwd

    def run_row(self, row):
        """Figures, or Fail."""
        argv = row.argv(self.full)
        if not shutil.which(argv[0]):
            raise Fail("%s is not installed" % argv[0])
        trace = os.path.join(self.top, "trace")
        harness.remove(trace)
        cwd = self.fresh()
        kw = {"cwd": cwd, "timeout": self.limit,
              "input": os.path.join(cwd, row.input) if row.input else None}
        native = run(argv, **kw)
        if row.status is not None and native.status != row.status:
            raise Fail("native run: status %d, not %d" % (native.status, row.status))
        if row.status is None and native.status:
            raise Fail("native run: status %d: %s" % (native.status, short(native.out + native.err)))
        self.fresh()
        recorded = playhead("record", "-F", str(row.hz), "-o", trace, "--", *argv, **kw)
        if row.own:
            native.out, native.err = recorded.out, recorded.err
        same("record", recorded, native)
        # Replay must not need what the program read.
        harness.remove(cwd)
        os.mkdir(cwd)
        kw["input"] = None
        replayed = playhead("replay", trace, **kw)
        same("replay", replayed, recorded)
        return Figures(native, recorded, self.verify(trace, cwd, row.hz))

    def verify(self, trace, cwd, hz):
        v = playhead("verify", "--json", trace, cwd=cwd, timeout=self.limit)
        if v.status == -1:
            raise Fail("verify: still running after %.0f s" % v.seconds)
        try:
            counts = json.loads(v.out)
        except ValueError:
            raise Fail("verify: status %d, no JSON: %s" % (v.status, short(v.out + v.err, 600)))
        bad = [k for k in ("lost", "divergences") if counts[k]]
        if bad or v.status:
            raise Fail("verify: status %d, %s; stderr: %s" % (v.status, counts, short(v.err, 600)))
        if counts["exact"] + counts["repeated"] != counts["samples"]:
            raise Fail("verify: figures do not add up: %s" % counts)
        if not hz and counts["samples"]:
            raise Fail("verify: %d samples without sampling" % counts["samples"])
        return counts

    def tap(self, which):
        tap = harness.Tap()
        for row in rows():
            if row.set != which:
                continue
            try:
                f = self.run_row(row)
                print("# %s: %s" % (row.name, ", ".join(
                    "%d %s" % (getattr(f, k), k) for k in f.keys)))
                tap.case(row.name)
            except Fail as e:
                tap.case(row.name, str(e))
        return tap.end()

    def table(self, names):
        """Figures of all rows; the status says whether all are well."""
        bad = 0
        print("%-18s %9s %8s %8s %8s %5s %4s %8s %8s %7s" % (
            ("program",) + Figures.keys[:5] + ("div", "native", "record", "ratio")))
        for row in rows():
            if names and row.name not in names:
                continue
            try:
                f = self.run_row(row)
            except Fail as e:
                print("%-18s FAILED %s" % (row.name, str(e).replace("\n", "\n    ")))
                bad = 1
                continue
            print("%-18s %9d %8d %8d %8d %5d %4d %7.2fs %7.2fs %7.2f" % (
                (row.name,) + tuple(getattr(f, k) for k in f.keys) +
                (f.native.seconds, f.recorded.seconds,
                 f.recorded.seconds / max(f.native.seconds, 1e-3))))
            sys.stdout.flush()
        return bad


def main(args):
    if not args or args[0].startswith("--") and args[0] not in ("--full", "--small"):
        sys.stderr.write(__doc__)
        return 2
    m = Matrix(args[0] == "--full")
    try:
        return m.table(args[1:]) if args[0].startswith("--") else m.tap(args[0])
    finally:
        if not os.environ.get("KEEP"):
            harness.remove(m.top)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
