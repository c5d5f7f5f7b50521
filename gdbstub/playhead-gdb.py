# SPDX-License-Identifier: GPL-3.0-or-later
#
# playhead-gdb.py - makes gdb follow when "monitor" moves to another place, and
# gives the sample commands names of their own. Works without it too: then
# type "maintenance flush register-cache", "maintenance flush dcache",
# "sharedlibrary" and "frame" after each jump.

import re
import gdb

SUBCOMMANDS = ["top", "list", "show"]
JUMPS = re.compile(r"\s*(goto-sample|goto-event|next-sample|prev-sample)\b")


def monitor(line):
    """The answer to a monitor command, without gdb's hooks for it."""
    return gdb.execute("monitor " + line, to_string=True)


def present_thread():
    """(pid, tid) that the recording stands in, or None."""
    found = re.search(r"thread (\d+)\.(\d+)", monitor("when"))
    return (int(found.group(1)), int(found.group(2))) if found else None


_program = None


def follow_program():
    """An exec lies between the places: attach anew, so that gdb reads the
    program that runs here. A file that the user gave by hand is left alone."""
    global _program
    found = re.search(r", program (.*)", monitor("when"))
    if not found:
        return
    known = _program
    if known is None:
        name = gdb.current_progspace().filename or ""
        known = name[7:] if name.startswith("target:") else found.group(1)
    _program = found.group(1)
    if known == _program:
        return
    confirm = gdb.parameter("confirm")
    gdb.execute("set confirm off")
    try:
        pid = gdb.selected_inferior().pid
        gdb.execute("detach", to_string=True)
        gdb.execute("file", to_string=True)
        gdb.execute("attach %d" % pid, to_string=True)
    finally:
        gdb.execute("set confirm %s" % ("on" if confirm else "off"))


def refresh():
    """Forget what gdb remembers of the old place and show the new one."""
    follow_program()
    # The selected thread may not exist there: then most of these complain.
    # sharedlibrary: libraries came or went without gdb having run past it.
    for command in ("maintenance flush register-cache", "maintenance flush dcache",
                    "info threads", "sharedlibrary"):
        try:
            gdb.execute(command, to_string=True)
        except gdb.error:
            pass
    place = present_thread()
    for inferior in gdb.inferiors():
        for thread in inferior.threads():
            if place and thread.ptid[0] == place[0] and place[1] in thread.ptid[1:]:
                thread.switch()
    # Frames that were made before the libraries were known.
    gdb.execute("maintenance flush register-cache", to_string=True)
    gdb.execute("frame")


_last_place = None
_inside = False


def place_now():
    try:
        return monitor("when")
    except gdb.error:
        return None


def after_monitor():
    """hookpost-monitor: only a jump changes anything."""
    global _last_place, _inside
    if _inside:
        return
    _inside = True
    try:
        now = place_now()
        if now is not None and now != _last_place:
            _last_place = now
            refresh()
    finally:
        _inside = False


def jump(line):
    """Run a monitor command that moves, then show where."""
    global _last_place, _inside
    _inside = True
    try:
        answer = monitor(line)
        # The first lines tell those without this script what to type.
        for text in answer.splitlines():
            if text.startswith("at sample") or text.startswith("after event"):
                gdb.write(text + "\n")
        refresh()
        _last_place = place_now()
    finally:
        _inside = False


def show(line):
    """Run a monitor command that only prints."""
    global _inside
    _inside = True
    try:
        gdb.execute("monitor " + line)
    finally:
        _inside = False


class SamplesCommand(gdb.Command):
    """The recording's samples: samples top [N], samples list [FROM [COUNT]],
samples show [N]. Alone: samples top."""

    def __init__(self):
        super().__init__("samples", gdb.COMMAND_DATA)

    def invoke(self, argument, from_tty):
        show("samples " + (argument.strip() or "top"))

    def complete(self, text, word):
        if " " in text.strip():
            return gdb.COMPLETE_NONE
        return [name for name in SUBCOMMANDS if name.startswith(word)]


class JumpCommand(gdb.Command):
    """Go to another place of the recording and show it."""

    def __init__(self, name, doc, takes_number):
        self.name = name
        self.__doc__ = doc
        self.takes_number = takes_number
        super().__init__(name, gdb.COMMAND_RUNNING)

    def invoke(self, argument, from_tty):
        argument = argument.strip()
        if argument and not argument.isdigit():
            argument = str(int(gdb.parse_and_eval(argument)))
        jump((self.name + " " + argument).strip())

    def complete(self, text, word):
        return gdb.COMPLETE_EXPRESSION if self.takes_number else gdb.COMPLETE_NONE


SamplesCommand()
for _name, _doc, _number in (
    ("goto-sample", "goto-sample N: stand where sample N was taken.", True),
    ("goto-event", "goto-event N: stand right after event N of the recording.", True),
    ("next-sample", "Stand at the sample after the present.", False),
    ("prev-sample", "Stand at the sample before the present.", False),
):
    JumpCommand(_name, _doc, _number)

gdb.execute("""define hookpost-monitor
python after_monitor()
end""")
