"""Shows users of gdb the program's own frames; gdb loads this with the agent.

The agent tells gdb how to unwind (hook/debugger.c): a trampoline is a frame that looks like a signal handler's, and its caller is the place in
the function that the instruction was copied from; a return stub is a frame between two of the program's; a near stub is a place without a name
with the function's frame. So what is left to do here is names:

    backtrace                  leaves trampolines and return stubs out, and gives near stubs the names of their functions
    a stop in a trampoline     selects the function's own frame, so that `list`, `info locals` and `up` begin there
    $_ada_original(ADDRESS)    what ADDRESS, in a trampoline or a near stub, is a copy of; any other address is itself

`disable frame-filter global ada` shows all frames. Where memory can't be read, or isn't as it should be, frames stay as gdb has them.
"""
import struct

import gdb
from gdb.FrameDecorator import FrameDecorator

# As offsets.h has them (agent/gen_offsets.c), which a test compares.
ADA_TRAMPOLINE_BYTES = 64
ADA_TRAMPOLINE_BODY = 26
ADA_NEAR_STUB_BYTES = 32
ADA_NEAR_STUB_DISTANCE = 23
ADA_NEAR_STUB_END = 27
ADA_ORIGIN_END = 255
CELL_START = 1048616
CELL_ORIGINAL = 1048624
CELL_ORIGINS = 1048632
ORIGIN_BYTES = 4


def read(address, form):
    return struct.unpack("<" + form, bytes(gdb.selected_inferior().read_memory(address, struct.calcsize("<" + form))))


def cell(address):
    return address // ADA_TRAMPOLINE_BYTES * ADA_TRAMPOLINE_BYTES


def in_trampoline(address):
    """What an address in a trampoline is a copy of, as region.S tells it to unwinders."""
    start, = read(cell(address) + CELL_START, "Q")
    original, origins = read(cell(start) + CELL_ORIGINAL, "QQ")
    offset = address - start - ADA_TRAMPOLINE_BODY
    if offset < 0:
        return original
    place = 0, 0
    while offset < ADA_ORIGIN_END:
        body, within, _, _ = read(origins, "4B")
        if body > offset:
            return original + place[1] + offset - place[0]
        place = body, within
        origins += ORIGIN_BYTES
    return None


def in_near_stub(address):
    """The function whose entry the near stub stands for, which leads to the body in that function's trampoline."""
    code = address // ADA_NEAR_STUB_BYTES * ADA_NEAR_STUB_BYTES
    start = code + ADA_NEAR_STUB_END + read(code + ADA_NEAR_STUB_DISTANCE, "i")[0] - ADA_TRAMPOLINE_BODY
    return read(cell(start) + CELL_ORIGINAL, "Q")[0] if read(cell(start) + CELL_START, "Q")[0] == start else None


def quietly(function, *arguments):
    try:
        return function(*arguments)
    except (gdb.error, gdb.MemoryError, OverflowError, struct.error):
        return None


def is_trampoline(frame):
    """True where the frame's caller is what an ada trampoline would have there: no other code agrees in that."""
    if frame.type() != gdb.SIGTRAMP_FRAME or not frame.older():
        return False
    return quietly(in_trampoline, frame.pc()) == frame.older().pc()


def is_return_stub(frame):
    return frame.name() == "ada_stubs" and (gdb.solib_name(frame.pc()) or "").endswith("/libada-agent.so")


class AtEntry(FrameDecorator):
    """A frame in a near stub: of a function that is about to begin."""

    def __init__(self, decorated, name, line):
        super().__init__(decorated)
        self.name, self.place = name, line

    def function(self):
        return self.name

    def filename(self):
        return self.place.symtab.filename if self.place.symtab else None

    def line(self):
        return self.place.line or None


def symbol_at(address):
    said = gdb.execute(f"info symbol {address:#x}", to_string=True)
    return None if said.startswith("No symbol") else said.split(" in section ")[0]


def named(decorated):
    frame = decorated.inferior_frame()
    original = quietly(in_near_stub, frame.pc()) if not frame.name() else None
    name = quietly(symbol_at, original) if original else None
    return AtEntry(decorated, name, gdb.find_pc_line(original)) if name else decorated


class Filter:
    name, priority, enabled = "ada", 90, True

    def filter(self, frames):
        for decorated in frames:
            frame = decorated.inferior_frame()
            if not is_trampoline(frame) and not is_return_stub(frame):
                yield named(decorated)


class Original(gdb.Function):
    """What an address in ada's code is a copy of: $_ada_original(ADDRESS). Any other address is itself."""

    def __init__(self):
        super().__init__("_ada_original")

    def invoke(self, address):
        if address.type.strip_typedefs().code == gdb.TYPE_CODE_FUNC:
            return address
        asked = int(address) & (1 << 64) - 1
        for look in in_near_stub, in_trampoline:
            found = quietly(look, asked)
            if found and quietly(symbol_at, found):
                return gdb.Value(found).cast(gdb.lookup_type("char").pointer())
        return address


def begin_at_the_function(_event=None):
    frame = quietly(gdb.newest_frame)
    if frame and is_trampoline(frame):
        frame.older().select()
        gdb.execute("frame")
        gdb.flush()


def of_a_core():
    """A core stops nowhere: where gdb has one, the first prompt behind what it says of it is the place."""
    gdb.events.before_prompt.disconnect(of_a_core)
    begin_at_the_function()


gdb.frame_filters[Filter.name] = Filter()
Original()
gdb.events.stop.connect(begin_at_the_function)
gdb.events.before_prompt.connect(of_a_core)
