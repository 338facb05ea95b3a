"""Reads a Perfetto trace with Perfetto's own classes and prints its tracks, slices, counters and what was on each CPU.

Argument: the trace. Output: a line per track, `NAME slices=N sum=NS` or `NAME values=A,B`, in the order of the file, indented
below its parent; then a line per flow, in order of their begin: `TRACK: SLICE (its part) until NS -> TRACK: SLICE (its part) from NS`, counted from the first
slice; then a line per CPU, `CPU N: NAME TID FROM TO STATE; ...` with what it did until each switch, and per wake-up `wake CPU N: TID -> TID at NS
to CPU N`. Fails where a slice ends before it begins, is never ended, or is not within the one around it, where a flow does not
lead from one slice to another that begins later, where a switch leaves another thread than the one before it began, and where a field is none of Perfetto's.
"""

import sys

from google.protobuf.unknown_fields import UnknownFieldSet
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as proto


def check_fields(message):
    """Fails where the message, or one within it, has a field that its description lacks."""
    assert not len(UnknownFieldSet(message)), f"an unknown field in {message}"
    for field, value in message.ListFields():
        if field.message_type:
            for inner in value if field.is_repeated else [value]:
                check_fields(inner)


def read(path):
    """The tracks by uuid, each track's events in order, and each CPU's records in order."""
    trace = proto.Trace()
    with open(path, "rb") as file:
        trace.ParseFromString(file.read())
    check_fields(trace)
    tracks, events, cpus = {}, {}, {}
    for packet in trace.packet:
        assert packet.trusted_packet_sequence_id == 1
        if packet.HasField("track_descriptor"):
            tracks[packet.track_descriptor.uuid] = packet.track_descriptor
        elif packet.HasField("ftrace_events"):
            assert packet.ftrace_events.cpu not in cpus, "two bundles of a CPU"
            cpus[packet.ftrace_events.cpu] = packet.ftrace_events.event
        elif packet.HasField("track_event"):
            events.setdefault(packet.track_event.track_uuid, []).append(packet)
        else:
            assert packet.WhichOneof("data") in ("process_tree", "system_info"), packet
    return tracks, events, cpus


def title(track):
    """As Perfetto names it."""
    if track.HasField("thread"):
        return f"{track.thread.thread_name} {track.thread.tid}"
    if track.HasField("process"):
        return f"process {track.process.process_name} {track.process.pid}".replace("  ", " ")
    return track.name


def residencies(events):
    """Of one CPU: who was on it from when to when, and in which state it left."""
    begun, last = None, 0
    for event in events:
        assert event.timestamp >= last, "time runs backwards"
        last = event.timestamp
        if not event.HasField("sched_switch"):
            continue
        switch = event.sched_switch
        assert begun is None or begun[1] == switch.prev_pid, "a switch leaves a thread that was not there"
        if begun:
            yield *begun, event.timestamp, switch.prev_state
        begun = (switch.next_comm, switch.next_pid, event.timestamp)


def outermost(packets):
    """The number of slices, and the time in outermost ones."""
    stack, count, total, last = [], 0, 0, 0
    for packet in packets:
        assert packet.timestamp >= last, "time runs backwards"
        last = packet.timestamp
        if packet.track_event.type == proto.TrackEvent.TYPE_SLICE_BEGIN:
            assert packet.track_event.name
            stack.append(packet.timestamp)
            count += 1
        elif packet.track_event.type == proto.TrackEvent.TYPE_SLICE_END:
            begin = stack.pop()
            total += 0 if stack else packet.timestamp - begin
    assert not stack, "a slice never ends"
    return count, total


def slices(events):
    """All slices: the track, the event that begins it, begin and end."""
    for uuid, packets in events.items():
        stack = []
        for packet in packets:
            if packet.track_event.type == proto.TrackEvent.TYPE_SLICE_BEGIN:
                stack.append(packet)
            elif packet.track_event.type == proto.TrackEvent.TYPE_SLICE_END:
                begin = stack.pop()
                yield uuid, begin.track_event, begin.timestamp, packet.timestamp


def flows(events):
    """From each flow's first slice to its last, as the trace processor joins them: by identity, in order of time."""
    out, into = {}, {}
    for found in slices(events):
        for flow in found[1].flow_ids:
            assert out.setdefault(flow, found) is found, "a flow begins twice"
        for flow in found[1].terminating_flow_ids:
            assert into.setdefault(flow, found) is found, "a flow ends twice"
    assert out.keys() == into.keys(), "a flow begins or ends nowhere"
    for flow, begin in sorted(out.items(), key=lambda item: (item[1][2], item[0])):
        assert begin[2] <= into[flow][2], "a flow runs backwards"
        yield begin, into[flow]


def named(event):
    """A slice's name, and its part where it has one."""
    part = [note.string_value for note in event.debug_annotations if note.name == "part"]
    return " ".join([event.name, *(f"({name})" for name in part)])


def values(packets):
    """The values of a counter: whole numbers as such."""
    for packet in packets:
        event = packet.track_event
        assert event.type == proto.TrackEvent.TYPE_COUNTER
        yield str(getattr(event, event.WhichOneof("counter_value_field")))


def main():
    tracks, events, cpus = read(sys.argv[1])
    for uuid, track in tracks.items():
        indent, above = "", track
        while above.parent_uuid in tracks:
            indent, above = indent + "  ", tracks[above.parent_uuid]
        if track.HasField("counter"):
            print(f"{indent}{title(track)} values={','.join(values(events[uuid]))}")
            continue
        count, total = outermost(events.get(uuid, []))
        print(f"{indent}{title(track)} slices={count} sum={total}")
    start = min(found[2] for found in slices(events))
    for (source, begin, _, until), (target, end, at, _) in flows(events):
        left = f"{title(tracks[source])}: {named(begin)} until {until - start}"
        print(f"{left} -> {title(tracks[target])}: {named(end)} from {at - start}")
    for cpu, records in sorted(cpus.items()):
        stays = [f"{comm} {tid} {begin - start} {end - start} {state}" for comm, tid, begin, end, state in residencies(records)]
        print(f"CPU {cpu}: {'; '.join(stays)}")
        for record in records:
            if record.HasField("sched_waking"):
                to = record.sched_waking
                print(f"wake CPU {cpu}: {record.pid} -> {to.pid} at {record.timestamp - start} to CPU {to.target_cpu}")


main()
