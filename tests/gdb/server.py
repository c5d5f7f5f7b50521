# SPDX-License-Identifier: GPL-3.0-or-later
"""The server on the wire: who may connect, what bad input does, Ctrl-C."""
import os
import re
import select
import signal
import socket
import stat
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../system"))
from harness import Tap, playhead, remove, run, scratch, PLAYHEAD, TOP

tap = Tap()


def case(name):
    def now(fn):
        why = None
        try:
            fn()
        except Exception as e:  # one line is enough: the checks name themselves
            why = "%s: %s" % (type(e).__name__, e)
        tap.case(name, why)
    return now


def expect(got, want):
    if got != want:
        raise AssertionError("%r, expected %r" % (got, want))


class Server:
    def __init__(self, trace, *args):
        self.p = subprocess.Popen([PLAYHEAD, "serve", *args, trace], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, start_new_session=True)
        self.address = None
        self.said = ""
        while True:
            line = self.p.stdout.readline().decode()
            self.said += line
            found = re.search(r"target extended-remote (\S+)", line)
            if found:
                self.address = found.group(1)
            if found or not line:
                break
        self.port = int(self.address.rsplit(":")[-1]) if self.address and \
            self.address[0] == ":" else None

    def ended(self, seconds=5):
        try:
            return self.p.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def stop(self):
        if self.p.poll() is None:
            os.killpg(self.p.pid, signal.SIGKILL)
        self.p.wait()


def frame(body):
    if isinstance(body, str):
        body = body.encode()
    return b"$" + body + b"#%02x" % (sum(body) & 0xFF)


class Client:
    def __init__(self, server, host="127.0.0.1"):
        if server.port:
            self.s = socket.create_connection((host, server.port), 5)
        else:
            self.s = socket.socket(socket.AF_UNIX)
            self.s.connect(server.address)
        self.s.settimeout(10)
        self.got = b""

    def send(self, raw):
        self.s.sendall(raw)

    def byte(self):
        if not self.got:
            self.got = self.s.recv(65536)
            if not self.got:
                raise EOFError("closed")
        c, self.got = self.got[:1], self.got[1:]
        return c

    def packet(self):
        """The next packet that is not console output."""
        while True:
            while self.byte() != b"$":
                pass
            body = b""
            while (c := self.byte()) != b"#":
                body += c
            self.byte()
            self.byte()
            if body[:1] != b"O" or body == b"OK":
                return body.decode("latin1")

    def ask(self, body):
        self.send(frame(body))
        return self.packet()

    def hello(self):
        return self.ask("qSupported:multiprocess+;swbreak+;hwbreak+")

    def closed(self, seconds=2):
        ready = select.select([self.s], [], [], seconds)[0]
        return bool(ready) and self.s.recv(1) == b""

    def close(self):
        self.s.close()


def busy_client(s):
    """A client in a continue that lasts: a condition that never holds in the
    hottest place of the recording."""
    r = playhead("samples", long_trace)
    ips = re.findall(rb"(?m)^\s*\d+\s+\S+\s+\d+\s+\d+\s+([0-9a-f]{9,16})\b", r.out)
    hot = int(max(set(ips), key=ips.count), 16)
    c = Client(s)
    c.hello()
    expect(c.ask("Z0,%x,1;X3,220027" % hot), "OK")
    return c


top = scratch()
trace = os.path.join(top, "debuggee")
long_trace = os.path.join(top, "compute")
r = playhead("record", "-o", trace, os.path.join(TOP, "tests/gdb/debuggee"))
expect(r.status, 3)
r = playhead("record", "-o", long_trace, os.path.join(TOP, "tests/targets/compute"))
expect(r.status, 0)
server = Server(trace, "--port", "0", "--keep")


@case("127.0.0.1, ::1 and localhost answer")
def _():
    for host in ("127.0.0.1", "::1", "localhost"):
        c = Client(server, host)
        assert "ReverseContinue+" in c.hello()
        c.close()
        time.sleep(0.1)


@case("a second client is refused at once, the first does not notice")
def _():
    first = Client(server)
    first.hello()
    second = Client(server)
    assert second.closed(), "the second was kept"
    assert first.ask("?").startswith("T05")
    first.close()
    time.sleep(0.1)


@case("no-ack mode ends with its client")
def _():
    c = Client(server)
    expect(c.ask("QStartNoAckMode"), "OK")
    c.send(b"+")
    c.close()
    time.sleep(0.1)
    c = Client(server)
    c.send(frame("?"))
    expect(c.byte(), b"+")
    c.packet()
    c.close()
    time.sleep(0.1)


@case("a bad checksum is NAKed, the packet after it is served")
def _():
    c = Client(server)
    c.send(b"$?#00")
    expect(c.byte(), b"-")
    assert c.ask("?").startswith("T05")
    c.send(b"-")  # the last reply again
    assert c.packet().startswith("T05")
    c.close()
    time.sleep(0.1)


@case("garbage, cut frames and 1 MB packets do no harm")
def _():
    for raw in (bytes(range(256)) * 64, b"$m1000,", b"$" + b"a" * (1 << 20) + b"#00",
                b"#" * 1000 + b"$" * 1000, frame("m" + "f" * 5000), frame("vCont;" * 500),
                frame("qXfer:features:read:target.xml:ffffffffffffffff,ffffffffffffffff"),
                frame("m0,ffffffffffffffff"), frame("Z0,0,1;Xffffffff,"), frame("vFile:pread:7,1,1"),
                frame(b"X0,ffffffff:"), frame("Hg-5"), frame("qSearch:memory:0;ffffffffffffffff;a")):
        c = Client(server)
        c.send(raw)
        c.send(b"#00")
        assert c.ask("!") is not None
        c.close()
        time.sleep(0.05)
    expect(server.p.poll(), None)
    c = Client(server)
    assert "PacketSize" in c.hello()
    c.close()
    time.sleep(0.1)


@case("an unknown packet gets the empty reply")
def _():
    c = Client(server)
    for body in ("vMustReplyEmpty", "jThreadsInfo", "qWhatever:1", "_M10,rw", "\x01"):
        expect(c.ask(body), "")
    c.close()
    time.sleep(0.1)


@case("a client that goes leaves its breakpoints behind for nobody")
def _():
    c = Client(server)
    c.hello()
    pc = re.search(r"10:([0-9a-f]{16});", c.ask("?")).group(1)
    address = int.from_bytes(bytes.fromhex(pc), "little")
    expect(c.ask("Z0,%x,1" % address), "OK")
    c.close()
    time.sleep(0.1)
    c = Client(server)
    c.hello()
    assert "replaylog:begin" in c.ask("bc")
    c.close()
    time.sleep(0.1)


@case("--keep: a detach is not the end")
def _():
    c = Client(server)
    c.hello()
    expect(c.ask("D;%x" % 0), "OK")
    c.close()
    time.sleep(0.2)
    c = Client(server)
    assert c.hello()
    c.close()
    expect(server.p.poll(), None)


server.stop()


@case("without --keep a client may come back after it vanished; a detach ends")
def _():
    s = Server(trace, "--port", "0")
    try:
        c = Client(s)
        c.hello()
        c.close()
        time.sleep(0.2)
        c = Client(s)
        c.hello()
        expect(c.ask("D"), "OK")
        c.close()
        expect(s.ended(), 0)
    finally:
        s.stop()


@case("--once ends with the first connection")
def _():
    s = Server(trace, "--port", "0", "--once")
    try:
        c = Client(s)
        c.hello()
        c.close()
        expect(s.ended(), 0)
    finally:
        s.stop()


@case("a unix socket, for its owner alone, removed at the end")
def _():
    path = os.path.join(top, "sock")
    s = Server(trace, "--listen", "unix:" + path, "--once")
    try:
        expect(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        c = Client(s)
        assert c.hello()
        c.close()
        expect(s.ended(), 0)
        expect(os.path.exists(path), False)
    finally:
        s.stop()


@case("a socket that a killed server left is taken over, one in use is not")
def _():
    path = os.path.join(top, "sock2")
    s = Server(trace, "--listen", "unix:" + path)
    s.stop()
    expect(os.path.exists(path), True)
    s = Server(trace, "--listen", "unix:" + path)
    try:
        c = Client(s)
        assert c.hello()
        r = playhead("serve", "--listen", "unix:" + path, trace, timeout=20)
        expect(r.status, 1)
        assert b"in use" in r.err, r.err
        assert c.ask("?").startswith("T05")
        c.close()
        os.kill(s.p.pid, signal.SIGTERM)
        expect(s.ended(), 0)
        expect(os.path.exists(path), False)
    finally:
        s.stop()


@case("SIGTERM ends a server whose client is in a long continue")
def _():
    s = Server(long_trace, "--port", "0")
    try:
        c = busy_client(s)
        c.send(frame("vCont;c"))
        time.sleep(0.5)
        os.kill(s.p.pid, signal.SIGTERM)
        expect(s.ended(), 0)
        c.close()
    finally:
        s.stop()


@case("--stdio: packets through pipes and through a socket pair; the end of input ends it")
def _():
    asked = frame("qSupported") + b"+" + frame("?") + b"+"
    for sockets in (False, True):
        if sockets:
            ours, theirs = socket.socketpair()
            p = subprocess.Popen([PLAYHEAD, "serve", "--stdio", trace], stdin=theirs,
                                 stdout=theirs, stderr=subprocess.PIPE)
            theirs.close()
            ours.sendall(asked)
            ours.shutdown(socket.SHUT_WR)
            err = p.stderr.read()
            out = b""
            while (piece := ours.recv(65536)):
                out += piece
        else:
            p = subprocess.Popen([PLAYHEAD, "serve", "--stdio", trace],
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE)
            out, err = p.communicate(asked, timeout=20)
        expect(p.wait(10), 0)
        expect(err, b"")
        assert out.startswith(b"+$PacketSize"), out
        assert b"$T05" in out, out


@case("--stdio behind gdb's pipe")
def _():
    r = run(["gdb", "-batch", "-nx", "-ex", "target extended-remote | %s serve --stdio %s"
             % (PLAYHEAD, trace), "-ex", "break main", "-ex", "continue", "-ex", "kill"],
            timeout=30)
    assert b"Breakpoint 1, main" in r.out, r.out + r.err


@case("playhead gdb that is killed leaves nothing behind")
def _():
    tmp = os.path.join(top, "tmp")
    os.mkdir(tmp)
    for which in (signal.SIGKILL, signal.SIGTERM):
        p = subprocess.Popen([PLAYHEAD, "gdb", trace, "--", "-nx", "-ex", "shell sleep 30"],
                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL, start_new_session=True,
                             env=dict(os.environ, TMPDIR=tmp))
        for _i in range(100):
            if os.listdir(tmp):
                break
            time.sleep(0.1)
        expect(len(os.listdir(tmp)), 1)
        time.sleep(0.5)
        os.kill(p.pid, which)
        p.wait()
        for _i in range(50):
            if not os.listdir(tmp):
                break
            time.sleep(0.1)
        expect(os.listdir(tmp), [])


@case("a port in use is said, exit 1")
def _():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        r = playhead("serve", "--port", str(port), trace, timeout=20)
        expect(r.status, 1)
        assert ("port %d is in use" % port).encode() in r.err, r.err


@case("only loopback unless asked; another address is warned of")
def _():
    s = Server(trace, "--port", "0")
    inodes = [line.split() for line in open("/proc/net/tcp").readlines()[1:]]
    s.stop()
    local = [f[1].split(":")[0] for f in inodes if int(f[1].split(":")[1], 16) == s.port
             and f[3] == "0A"]
    expect(local, ["0100007F"])
    s = Server(trace, "--listen", "0.0.0.0:0", "--once")
    s.stop()
    assert "whoever reaches it" in s.said, s.said


@case("Ctrl-C in a long continue, then in a long reverse-continue: T02 within a second")
def _():
    s = Server(long_trace, "--port", "0")
    try:
        c = busy_client(s)
        # Forwards longer than backwards: on a busy machine the way back must
        # not be over before it is interrupted.
        for how, seconds in (("vCont;c", 3), ("bc", 0.7)):
            c.send(frame(how))
            time.sleep(seconds)
            begin = time.monotonic()
            c.send(b"\x03")
            got = c.packet()
            took = time.monotonic() - begin
            assert got.startswith("T02"), got
            assert took < 1, "%.1f s" % took
        c.close()
    finally:
        s.stop()


@case("a client killed while the program runs can be followed by another")
def _():
    s = Server(long_trace, "--port", "0")
    try:
        c = busy_client(s)
        c.send(frame("vCont;c"))
        time.sleep(0.5)
        c.close()
        time.sleep(1)
        c = Client(s)
        assert c.hello()
        assert c.ask("?").startswith("T0")
        c.close()
    finally:
        s.stop()


remove(top)
sys.exit(tap.end())
