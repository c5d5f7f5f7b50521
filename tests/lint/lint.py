# SPDX-License-Identifier: GPL-3.0-or-later
"""What can be said of the source without running it.

CHECKS is the table: each check gets the folder of the sources and gives a list
of findings, "file:line: what". lint.tap runs them on the tree, self.tap on
samples that are wrong on purpose.
"""
import os
import re
import shlex
import shutil
import subprocess

FILE_LINES = 600
FUNCTION_LINES = 80
FUNCTION_LINES_NOTED = 40

DIRS = ("src", "gdbstub", "bpf", "tests", "demo", "doc", ".ci")
TOP = ("bootstrap", "configure.ac", "Makefile.am", "README")
GENERATED = re.compile(r"\.skel\.h$|\.bpf\.o$|-code\.h$")
TEXT = re.compile(r"\.(c|h|S|def|py|sh|tap|mk|ac|am|txt|1|gdb)$|^(HACKING|README|run|bootstrap)$")

# Who may include whom: what is on the left may include what is below it in
# this order, and of the same rank only what SAME says.
RANK = {
    "base": 0, "arch": 1, "tracee": 2, "agent": 2, "point": 3, "trace": 4,
    "stop": 5, "syscall": 5, "sym": 5,
    "record": 6, "replay": 6, "sample": 6, "export": 6, "shell": 6,
    "cmd": 7,
}
SAME = {
    "tracee": {"agent"}, "record": {"sample"}, "replay": {"sample"}, "export": {"sample"},
    "shell": {"sample", "export", "replay"}, "cmd": {"cmd"},
}
USES_GDBSTUB = {"replay", "cmd", "shell"}


def read(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        return f.read()


def sources(top, pattern=TEXT):
    """Files below @top that people write, as paths from it."""
    for name in TOP:
        if pattern.search(name) and os.path.isfile(os.path.join(top, name)):
            yield name
    for d in DIRS:
        for base, dirs, files in os.walk(os.path.join(top, d)):
            dirs[:] = sorted(x for x in dirs if x not in (".deps", "__pycache__"))
            for f in sorted(files):
                if pattern.search(f) and not GENERATED.search(f):
                    yield os.path.relpath(os.path.join(base, f), top)


C = re.compile(r"\.(c|h)$")
CODE = re.compile(r"\.(c|h|S|def)$")


def part_of(path):
    """The part of the program that a file belongs to, or None."""
    p = path.split("/")
    if p[0] == "gdbstub":
        return "gdbstub"
    if p[0] == "bpf":
        return "bpf"
    if p[0] != "src":
        return None
    return p[1] if len(p) > 2 else "cmd"


def target_part(top, path, inc):
    if inc.startswith("bpf/"):
        return "bpf"
    if inc.startswith("gdbstub/"):
        return "gdbstub"
    if inc == "config.h":
        return None
    if os.path.exists(os.path.join(top, os.path.dirname(path), inc)):
        return part_of(os.path.dirname(path) + "/" + inc)
    return part_of("src/" + inc)


def may_include(a, b):
    if a == b or b in ("bpf", None):
        return True
    if a == "bpf":
        return False
    if a == "gdbstub":
        return b == "base"
    if b == "gdbstub":
        return a in USES_GDBSTUB
    if a not in RANK or b not in RANK:
        return False
    return RANK[b] < RANK[a] or b in SAME.get(a, ())


def check_includes(top):
    out = []
    for path in sources(top, C):
        a = part_of(path)
        if not a:
            continue
        for n, line in enumerate(read(os.path.join(top, path)).split("\n"), 1):
            m = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
            if not m:
                continue
            b = target_part(top, path, m.group(1))
            if not may_include(a, b):
                out.append("%s:%d: %s may not include %s (%s)" % (path, n, a, b, m.group(1)))
    return out


def compiler():
    return shlex.split(os.environ.get("CC", "cc")) + shlex.split(os.environ.get("CPPFLAGS", ""))


def check_headers(top):
    """Each header of the program compiles alone. Those of bpf/ have two kinds
    of includers, who bring the types."""
    out = []
    build = os.environ.get("top_builddir", top)
    for path in sources(top, re.compile(r"\.h$")):
        if path.split("/")[0] not in ("src", "gdbstub"):
            continue
        cmd = compiler() + ["-fsyntax-only", "-std=gnu11", "-D_GNU_SOURCE", "-x", "c", "-I", top,
                            "-I", os.path.join(top, "src"), "-I", build, "-include",
                            os.path.join(top, path), "/dev/null"]
        r = subprocess.run(cmd, stderr=subprocess.PIPE, universal_newlines=True)
        if r.returncode:
            out.append("%s:1: does not compile alone: %s" % (path, r.stderr.split("\n")[0]))
    return out


def check_length(top):
    out = []
    for path in sources(top, re.compile(r"\.(c|h|S|py|sh|tap)$")):
        n = read(os.path.join(top, path)).count("\n")
        if n > FILE_LINES:
            out.append("%s:%d: %d lines, more than %d" % (path, n, n, FILE_LINES))
    return out


def functions(text):
    """(line, name, length) of each function: from a { to a } in column 0."""
    start, name, prev = 0, "", ""
    for n, line in enumerate(text.split("\n"), 1):
        if line == "{":
            start, name = n, prev
        elif line.startswith("}") and start:
            yield start, name, n - start - 1
            start = 0
        m = re.search(r"(\w+)\(", line) if line[:1].isalpha() else None
        if m:
            prev = m.group(1)


def check_functions(top, limit=FUNCTION_LINES):
    out = []
    for path in sources(top, C):
        for line, name, n in functions(read(os.path.join(top, path))):
            if n > limit:
                out.append("%s:%d: %s() has %d lines, more than %d" % (path, line, name, n, limit))
    return out


def check_spdx(top):
    out = []
    for path in sources(top):
        if os.path.basename(path) in ("README", "HACKING"):
            continue
        head = "\n".join(read(os.path.join(top, path)).split("\n")[:2])
        want = "SPDX-License-Identifier: "
        want += "MIT OR GPL-2.0-or-later" if path.startswith("bpf/") and C.search(path) \
            else "GPL-3.0-or-later"
        if want not in head:
            out.append("%s:1: no '%s' at the top" % (path, want))
    return out


def check_unfinished(top):
    bad = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")
    out = []
    for path in sources(top):
        for n, line in enumerate(read(os.path.join(top, path)).split("\n"), 1):
            if bad.search(line):
                out.append("%s:%d: %s" % (path, n, bad.search(line).group(0)))
    return out


def check_space(top):
    out = []
    for path in sources(top):
        text = read(os.path.join(top, path))
        if text and not text.endswith("\n"):
            out.append("%s: no newline at the end" % path)
        if text.endswith("\n\n"):
            out.append("%s: empty lines at the end" % path)
        for n, line in enumerate(text.split("\n"), 1):
            if line != line.rstrip():
                out.append("%s:%d: space at the end of the line" % (path, n))
            if CODE.search(path) and line.startswith("        "):
                out.append("%s:%d: indented with spaces" % (path, n))
            if "\r" in line:
                out.append("%s:%d: carriage return" % (path, n))
    return out


def check_paths(top):
    """Folders of the machine that somebody happened to work on."""
    bad = re.compile(r"/(ro" r"ot|ho" r"me/\w+|wo" r"rk|tmp/te" r"am)/")
    out = []
    for path in sources(top):
        for n, line in enumerate(read(os.path.join(top, path)).split("\n"), 1):
            if bad.search(line):
                out.append("%s:%d: %s" % (path, n, bad.search(line).group(0)))
    return out


def check_listed(top):
    """Every source is named in a local.mk or the Makefile.am: it is built and
    is in the tarball."""
    make = read(os.path.join(top, "Makefile.am")) if os.path.exists(
        os.path.join(top, "Makefile.am")) else ""
    for path in sources(top, re.compile(r"\.mk$")):
        make += read(os.path.join(top, path))
    out = []
    for path in sources(top, re.compile(r"\.(c|h|S|def|py|sh|tap|txt|gdb)$")):
        stem = os.path.splitext(path)[0]
        if path not in make and not (path.startswith("tests/targets/") and
                                     re.search(r"(^|\s)%s(\s|$)" % re.escape(stem), make)):
            out.append("%s: in no local.mk" % path)
    return out


def check_format(top):
    out = []
    if not shutil.which("clang-format"):
        return None
    files = [os.path.join(top, p) for p in sources(top, C)]
    if not files:
        return out
    r = subprocess.run(["clang-format", "--dry-run", "--style=file"] + files,
                       stderr=subprocess.PIPE, universal_newlines=True)
    for line in r.stderr.split("\n"):
        m = re.match(re.escape(top) + r"/(\S+?):(\d+):\d+: warning", line)
        if m:
            out.append("%s:%s: clang-format would change it" % m.groups())
    return out


CHECKS = [
    ("includes go one way", check_includes),
    ("headers compile alone", check_headers),
    ("files have at most %d lines" % FILE_LINES, check_length),
    ("functions have at most %d lines" % FUNCTION_LINES, check_functions),
    ("files begin with their license", check_spdx),
    ("nothing is marked unfinished", check_unfinished),
    ("space is where it belongs", check_space),
    ("no path of a machine", check_paths),
    ("every source is in a local.mk", check_listed),
    ("clang-format agrees", check_format),
]
