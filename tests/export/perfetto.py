"""Perfetto traces, read with Google's own protobuf and the published field numbers (perfetto_trace.proto)."""
import importlib.util
import pathlib
import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass, field

from calls import Call

HERE = pathlib.Path(__file__).resolve().parent
BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4
CLEARED, NEEDS_STATE = 1, 2
BOOTTIME, OWN_CLOCKS = 6, 128


def load(directory):
    """The module that protoc makes of the .proto."""
    subprocess.run(["protoc", f"--proto_path={HERE}", f"--python_out={directory}", "perfetto_trace.proto"], check=True)
    spec = importlib.util.spec_from_file_location("perfetto_trace_pb2", directory / "perfetto_trace_pb2.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault("perfetto_trace_pb2", module)
    spec.loader.exec_module(module)
    return module


@dataclass
class Slice(Call):
    category: str = ""
    location: tuple = None
    notes: dict = field(default_factory=dict)


@dataclass
class Instant:
    name: str
    ns: int
    category: str
    notes: dict


@dataclass
class Perfetto:
    tracks: dict = field(default_factory=dict)                                  # uuid: descriptor
    slices: dict = field(default_factory=lambda: defaultdict(list))             # uuid: outermost slices
    instants: dict = field(default_factory=lambda: defaultdict(list))
    counters: dict = field(default_factory=lambda: defaultdict(list))           # track name: [(ns, value)]
    clocks: dict = field(default_factory=dict)                                  # at the session's start
    snapshots: list = field(default_factory=list)                               # these, and those of anchors

    def threads(self):
        """{(pid, tid, uuid): calls}"""
        return {(t.thread.pid, t.thread.tid, uuid): self.slices.get(uuid, [])
                for uuid, t in self.tracks.items() if t.HasField("thread")}

    def named(self, name):
        """Slices and instants of the tracks of that name, or of threads of that name."""
        uuids = [u for u, t in self.tracks.items() if name in (t.name, t.thread.thread_name)]
        return [s for u in uuids for s in self.slices.get(u, [])], [i for u in uuids for i in self.instants.get(u, [])]


def no_unknown_fields(message):
    assert not len(message.UnknownFields()), f"fields that are not in the published format: {message}"
    for descriptor, value in message.ListFields():
        if descriptor.type == descriptor.TYPE_MESSAGE:
            for part in value if descriptor.label == descriptor.LABEL_REPEATED else [value]:
                no_unknown_fields(part)


class Sequence:
    """What the packets of one sequence have said so far: valid since its state was cleared."""
    def __init__(self):
        self.valid, self.clock, self.track = False, None, None
        self.names, self.categories, self.locations = {}, {}, {}

    def take(self, packet):
        if packet.sequence_flags & CLEARED:
            self.__init__()
            self.valid = True
        assert self.valid or not packet.sequence_flags & NEEDS_STATE
        if packet.HasField("trace_packet_defaults"):
            self.clock = packet.trace_packet_defaults.timestamp_clock_id
            self.track = packet.trace_packet_defaults.track_event_defaults.track_uuid
        data = packet.interned_data
        for table, entries in ((self.names, data.event_names), (self.categories, data.event_categories)):
            for entry in entries:
                assert entry.iid and table.setdefault(entry.iid, entry.name) == entry.name
        for entry in data.source_locations:
            self.locations[entry.iid] = (entry.file_name, entry.function_name, entry.line_number)


def notes_of(event):
    result = {}
    for note in event.debug_annotations:
        value = note.WhichOneof("value")
        assert note.name and value
        result[note.name] = getattr(note, value)
    return result


def read(proto, data, check_fields=True):
    trace = proto.Trace()
    trace.ParseFromString(data)
    if check_fields:
        no_unknown_fields(trace)
    result, sequences, stacks = Perfetto(), defaultdict(Sequence), defaultdict(list)
    for packet in trace.packet:
        assert packet.trusted_packet_sequence_id
        assert packet.first_packet_on_sequence == (packet.trusted_packet_sequence_id not in sequences)
        sequence = sequences[packet.trusted_packet_sequence_id]
        sequence.take(packet)
        assert sequence.valid
        kind = packet.WhichOneof("data")
        if kind == "clock_snapshot":
            assert packet.clock_snapshot.primary_trace_clock == BOOTTIME
            snapshot = {c.clock_id: c.timestamp for c in packet.clock_snapshot.clocks}
            assert packet.timestamp == snapshot[BOOTTIME] >= result.snapshots[-1][BOOTTIME] if result.snapshots else True
            result.snapshots.append(snapshot)
            result.clocks.update(snapshot if max(snapshot) < OWN_CLOCKS else {})
        elif kind == "track_descriptor":
            track = packet.track_descriptor
            assert track.uuid and track.uuid not in result.tracks
            assert not track.parent_uuid or track.parent_uuid in result.tracks
            result.tracks[track.uuid] = track
        else:
            assert kind == "track_event"
            take_event(result, sequence, stacks, packet)
    assert not any(stacks.values()), "slices stay open"
    return result


def take_event(result, sequence, stacks, packet):
    event, ns = packet.track_event, packet.timestamp
    assert (packet.timestamp_clock_id or sequence.clock) == BOOTTIME
    uuid = event.track_uuid or sequence.track
    assert uuid in result.tracks
    name = event.name or sequence.names.get(event.name_iid)
    categories = list(event.categories) + [sequence.categories[i] for i in event.category_iids]
    stack, notes = stacks[uuid], notes_of(event)
    if event.type == COUNTER:
        result.counters[result.tracks[uuid].name].append((ns, event.counter_value))
        return
    if event.type == INSTANT:
        result.instants[uuid].append(Instant(name, ns, *categories, notes))
        return
    if event.type == BEGIN:
        assert name is not None
        location = sequence.locations[event.source_location_iid] if event.source_location_iid else None
        call = Slice(name, ns, None, "return", [], *categories, location, notes)
        (stack[-1].children if stack else result.slices[uuid]).append(call)
        if len(stack):
            assert stack[-1].start <= ns
        stack.append(call)
        return
    assert event.type == END and stack, "an end without a begin"
    call = stack.pop()
    assert ns >= call.start and all(c.end <= ns for c in call.children)
    call.end, call.outcome = ns, notes.pop("outcome", "return")
    call.notes.update(notes)
