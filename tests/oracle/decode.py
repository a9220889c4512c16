#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The naive decoder: docs/trace-format.md taken literally, and nothing else of gait.
    decode.py TRACE [PROCESS]     print the events, or those of one process, as `gait dump --format=lackey` does; and their data, if there is any
It keeps the document honest: what it cannot know from there is missing there. (n) names a section; broken rules fail assertions.
"""
import ctypes, functools, itertools, mmap, struct, sys  # noqa: E401
from collections import defaultdict, namedtuple
import xxhash, zstandard  # noqa: E401

M32, M64 = 2**32 - 1, 2**64 - 1
END, COMMAND, UNITS, RECORDS, MODULES, THREADS, SUMMARY, PROCESSES, ENDS, INDEX = range(10)
STATE, PARTIAL, FIRST_EXIT, STATES = 1, 4, 16, (1, 9, 10)
GUEST_SLOTS = {STATE: 4, 2: 3, 3: 2, PARTIAL: None, 5: 4, 6: 2, 7: 3, 8: 2, 9: 4, 10: 4, 11: 4, 12: 2, 13: 64}  # (12)
WATCH_SLOTS = [0, 2, 2, 3, 4, 4, 5, 4, 5, 3, 4, 4, 5, 3]  # (6)
RSP, FS, GS, ZERO = 250, 251, 252, 255  # terms
# (6) The fields; + marks columns of differences.
TABLES = {"Unit": "pc+ insn0+ n_insns ref0+ n_refs exit0+ n_exits",
          "Insn": "pc+ len refs watch slot bytes+",
          "Ref": "disp size insn+ kind op a b shift seg x y z count width flags before after",
          "Exit": "unit+ insns+ refs+ slots kind rsp_term is_call rsp_disp target+"}
ROW = {name: namedtuple(name, fields.replace("+", "")) for name, fields in TABLES.items()}
Event = namedtuple("Event", "process thread pc kind address size data")  # kind: I, L, S, M


def chunks(f):
    """(1 to 4) Yield kind, owner and contents of each chunk."""
    assert f.read(16) == b"GAITTRC\0" + struct.pack("<II", 6, 0), "a trace has its magic, version 6 and no flags"
    kind = None
    for n in itertools.count():
        head, before = f.read(48), kind
        assert b"CHNK"[:len(head)] == head[:4], "a chunk begins with its magic"
        if len(head) == 48:
            kind, owner, flags, sequence, raw, size, checksum = struct.unpack("<4xIIIQQQQ", head)
            assert kind <= INDEX and owner < 2**20 and flags <= 1 and sequence == n, "the head of a chunk makes sense"
            assert size <= raw <= (2**26 if kind == RECORDS else 2**24), "the sizes are within their limits"
        if len(head) < 48 or len(stored := f.read(size)) < size:
            return print("the recording was interrupted", file=sys.stderr)
        assert xxhash.xxh3_64_intdigest(head[:40] + bytes(8) + stored) == checksum, "the checksum is right"
        if flags:
            frame = zstandard.ZstdDecompressor().decompressobj()
            stored = frame.decompress(stored)
            assert size < raw and not frame.unused_data, "there is one frame, smaller than what it gives"
        assert len(stored) == raw, "the raw size is right"
        assert (n == 0) == (kind == COMMAND) and (before == SUMMARY) == (kind == END), "chunks stand in order"
        yield kind, owner, Bytes(stored)
        if kind == END:
            assert raw == 0 and not f.read(1), "nothing stands in or behind the end"
            return


class Bytes:
    """Contents, read from the front."""
    def __init__(self, data):
        self.data, self.left = data, len(data)

    def take(self, n):
        assert n <= self.left, "contents are as long as they say"
        at, self.left = len(self.data) - self.left, self.left - n
        return self.data[at:at + n]

    def ints(self, form):
        return struct.unpack("<" + form, self.take(struct.calcsize("<" + form)))

    def texts(self, n):
        return [self.take(*self.ints("I")) for _ in range(n)]

    def number(self):
        """(10) Seven bits in each byte, the low ones first."""
        byte, = self.take(1)
        return byte if byte < 128 else byte - 128 + 128 * self.number()

    def column(self, plain, size=None):
        """(10) A generator of the values of the column that stands here."""
        expanded = steps(Bytes(self.take(self.number() if size is None else size)), M64)
        return (value & M64 for value in (expanded if plain else itertools.accumulate(expanded)))


def steps(b, n_entries, depth=0):
    """(10) Yield what the next entries stand for; a loop's body is read anew in each turn."""
    while n_entries and (depth or b.left):
        byte, = b.take(1)
        tag, x = byte & 3, (byte >> 2 & 31) + (32 * b.number() if byte & 128 else 0)
        n, body = b.number() + 2 if tag else 1, b.left
        n_entries -= 1 if tag < 2 else x + 2
        assert tag < 3 and x <= M64 and n < 2**32 and n_entries >= 0 and depth <= 12, "an entry makes sense"
        if tag < 2:
            yield from itertools.repeat(x >> 1 ^ -(x & 1), n)
        for _ in range(n if tag == 2 else 0):
            b.left = body
            yield from steps(b, x + 1, depth + 1)


def append(table, b):
    """(6) Append a chunk to a unit table; is there more to come before it makes sense?"""
    before, new, (more, zero) = b.ints("5I"), b.ints("5I"), b.ints("2I")
    assert [*before] == [*map(len, table.values())] and any(new) and not zero, "a units chunk appends something"
    for (name, fields), n in zip(TABLES.items(), new):
        columns = [b.column(f[-1] != "+") for f in fields.split()]
        rows = list(itertools.islice(zip(*columns), n))
        assert len(rows) == n and next(itertools.chain(*columns), None) is None, "a column has a value for each element"
        table[name] += map(ROW[name]._make, rows)
    table["Code"] += b.take(b.left)
    assert len(table["Code"]) == before[4] + new[4], "the code ends the chunk"
    return more


def ids(n, runs, codes):
    """(11) Yield n ids."""
    p1, p2, p3, follow, ways = 0, 0, 0, defaultdict(int), defaultdict(list)
    for run in runs:
        for foreseen in itertools.chain(itertools.repeat(True, run), [False]):
            if not n:
                assert not foreseen, "the runs end with the records"
                return
            h = (p1 * 0x9e3779b1 ^ p2 * 0x85ebca6b ^ p3 * 0xc2b2ae35) % 2**32 // 65536
            if not foreseen:
                c = next(codes)
                follow[h] = ways[p1][c] if c < 8 else p1 + (c - 8 >> 1 ^ -(c & 1))
                if c >= 8 and len(ways[p1]) < 8:
                    ways[p1].append(follow[h])
            p1, p2, p3, n = follow[h], p1, p2, n - 1
            yield p1


def columns_of(table, unit, width):
    """(11) Which column of its group each slot of a unit is in."""
    _, insn0, _, ref0, n_refs, exit0, n_exits = table["Unit"][unit]
    most = max(e.slots for e in table["Exit"][exit0:exit0 + n_exits])
    refs = table["Ref"][ref0:ref0 + n_refs] if width < most else []
    terms = [(term, (table["Insn"][insn0 + r.insn].pc, which)) for r in refs for which, term in enumerate((r.a, r.b))]
    origins = [dict(reversed(terms)).get(k, k) for k in range(most)]
    assert width == len(ranks := list(dict.fromkeys(origins))), "there is a column for each origin"
    return [ranks.index(o) for o in origins]


def records(b, table):
    """(11) Yield id, exit and slots of each record of a chunk."""
    n, insns, size, _, _ = b.ints("5Q")
    runs, codes, lengths = (b.column(True) for _ in range(3))
    n_groups = b.number()
    numbers, widths, sizes = (b.column(plain) for plain in (False, True, True))
    groups = {next(numbers): [b.column(False, next(sizes)) for _ in range(next(widths))] for _ in range(n_groups)}
    places = {g: columns_of(table, g - 16, len(c)) if g >= 16 else range(len(c)) for g, c in groups.items()}
    for k, i in enumerate(ids(n, runs, codes)):
        assert k or i == STATE, "the first record is a state record"
        e = table["Exit"][i - FIRST_EXIT] if i >= FIRST_EXIT else None
        n_slots = e.slots if e else next(lengths) if i == PARTIAL else GUEST_SLOTS[i]
        slots = [next(groups[g][k]) for k in places[g][:n_slots]] if n_slots and (g := 16 + e.unit if e else i) else []
        n, size = n - 1, size - 4 - 8 * n_slots
        insns -= e.insns if e else slots[0] >> 32 & 65535 if i == PARTIAL else 0
        yield i, e, slots
    assert n == insns == size == b.left == 0, "the head of the records counts them"
    left = itertools.chain(runs, codes, lengths, numbers, widths, sizes, *itertools.chain(*groups.values()))
    assert next(left, None) is None, "every column is used up"


@functools.cache
def xsave_size(components, compact):
    """(14, events.md) What CPUID leaf 13 and XCR0 of this processor say."""
    page, out, size = mmap.mmap(-1, 4096, prot=7), (ctypes.c_uint * 5)(), 576
    page.write(bytes.fromhex("53 89f9 b80d000000 0fa2 8906 895e04 894e08 31c9 0f01d0 89460c 895610 5b c3"))
    ask = ctypes.CFUNCTYPE(None, ctypes.c_uint, ctypes.c_void_p)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
    for i in range(2, 63):
        n, offset, flags, low, high = ask(i, out) or out
        if components & (low | high << 32) & 1 << i:
            size = (size + 63 & ~63 if flags & 2 else size) + n if compact else max(size, offset + n)
    return size


def signed(v, size):
    return (v + 256**size // 2) % 256**size - 256**size // 2


def accesses(r, value, partial, behind):
    """(14) Yield kind, address, size and data of each access of a reference; value[t] is that of the term or slot t."""
    def lane(slot, i, width):
        return value[slot + i * width // 8] >> i * width % 8 * 8 & 256**width - 1

    def data(v, i):
        v = 255 if r.op == 3 and r.width and (partial or (x - y) % 256**wide * size >= 64 or way < 0) else v
        whole = behind if v > 240 else sum(value[v - 1 + k] << 64 * k for k in range(((i + 1) * size + 7) // 8))
        return "?" if v == 255 else f"{whole >> 8 * size * i & 256**size - 1:0{2 * size}x}"

    a, x, y, z, size, wide = value[r.a], value[r.x], value[r.y], value[r.z], r.size, 4 if r.flags & 2 else 8
    way = signed(z - (ea := a + (value[r.b] << r.shift) + r.disp & M64), wide)
    op, top = {7: (4, r.width), 9: (8, size)}.get(r.op, (r.op, None))  # these differ in the mask only
    on = [i for i in range(r.count) if (lane(r.x, i, top) >> 8 * top - 1 if top else x >> i & 1)]
    if r.op in (10, 11, 12):
        packed = r.op == 11 or r.op == 12 and z >> 63 == 1
        size = xsave_size(z if r.op == 12 and packed else x & M32 | y << 32, packed)
    eas = {1: lambda: [ea + size * (signed(x, size) >> (8 * size).bit_length() - 1)],
           2: lambda: [ea + (x & 255)],
           3: lambda: (ea + i * (-size if way < 0 else size) for i in range(abs(way) // size if partial else (x - y) % 256**wide)),
           4: lambda: [ea + i * size for i in on],
           5: lambda: [ea + k * size for k in range(len(on))],
           6: lambda: [ea] if on else [],
           8: lambda: [a + r.disp + (signed(lane(r.y, i, r.width), r.width) << r.shift) for i in on]}
    for e, i in zip(eas.get(op, lambda: [ea])(), on if op in (4, 5, 8) else itertools.count(0, r.width if op == 3 else 0)):
        address = value[r.seg] + e % 256**wide & M64
        yield "LSM"[r.kind], address // size * size if r.op == 13 else address, size, [data(v, i) for v in (r.before, r.after) if v]


def run(b, table):
    """(12 to 15) Yield each event of a chunk of records: instruction, kind, address, size, data."""
    value = {ZERO: 0}
    for i, e, slots in records(b, table):
        if i in STATES:
            value.update(zip((RSP, FS, GS), slots))
        if not e and i != PARTIAL:
            continue
        unit, n_insns, n_refs = (e.unit, e.insns, e.refs) if e else struct.unpack("<IHH", struct.pack("<Q", slots[0]))
        unit, now = table["Unit"][unit], {**value, **dict(enumerate(slots if e else slots[1:-1]))}
        assert n_insns <= unit.n_insns and n_refs <= unit.n_refs, "what ran is a prefix of its unit"
        refs = iter(table["Ref"][unit.ref0:unit.ref0 + n_refs])
        for insn in table["Insn"][unit.insn0:unit.insn0 + n_insns]:
            assert all(insn.slot + k in now for k in range(WATCH_SLOTS[insn.watch])), "what is watched is in the record"
            yield insn, "I", insn.pc, insn.len, []
            for r in (own := itertools.islice(refs, insn.refs)):
                turns = (accesses(r, now, not e, insn.pc + insn.len) for r in ([r, next(own)] if r.flags & 1 else [r]))
                yield from ((insn, *access) for turn in zip(*turns) for access in turn)
        value[RSP] = now[e.rsp_term] + e.rsp_disp & M64 if e else slots[-1]


def events(f):
    """(8) Yield the events of a trace, in the order of its chunks."""
    memory, threads, tables, more = [], [], {}, None
    for kind, owner, b in chunks(f):
        assert more is None or (kind, owner) == (UNITS, more), "the next chunk goes on with units"
        if kind == PROCESSES:
            for _ in range(*b.ints("I")):
                number, _, _, _, shares, _, _, _, _ = *b.ints("6IQ"), b.texts(1), b.texts(*b.ints("I"))
                assert number == len(memory), "processes have their numbers"
                memory.append(shares)
        elif kind == THREADS:
            for _ in range(*b.ints("I")):
                assert b.ints("I") == (len(threads),), "threads have their numbers"
                threads.append((b.ints("2I"), b.texts(1))[0][0])
        elif kind == UNITS:
            table = tables.setdefault(owner, {name: [] for name in TABLES} | {"Code": bytearray()})
            more = owner if append(table, b) else None
        elif kind == RECORDS:
            for insn, *what in run(b, tables[memory[threads[owner]]]):
                yield Event(threads[owner], owner, insn.pc, *what)


if __name__ == "__main__":
    with open(sys.argv[1], "rb") as trace:
        for event in (x for x in events(trace) if sys.argv[2:] in ([], [str(x.process)])):
            print(f"{'I ' if event.kind == 'I' else ' ' + event.kind} {event.address:08x},{event.size}", *event.data)
