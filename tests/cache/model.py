# SPDX-License-Identifier: MIT
"""A plain simulator of caches and TLBs, written from docs/man/gait-cache.1 alone: every event, one after the other, nothing left out.

    Model(text).run(events)    text: as a file for --config; events: (thread, pc, what, address, size) of one process
"""
import copy
from collections import Counter, OrderedDict, defaultdict

PAGE, HUGE = 1 << 12, 1 << 21


# -- Sets: the lines of one, and which of them is given up ----------------------------------------------------------------

class Line:
    def __init__(self, tag, dirty=False, shared=False, prefetched=False):
        self.tag, self.dirty, self.shared, self.prefetched, self.age = tag, dirty, shared, prefetched, 2


class Ordered:
    """lru, fifo: the first of the list goes first."""

    def __init__(self, policy, ways):
        self.moves, self.ways, self.lines = policy == "lru", ways, []

    def find(self, tag):
        return next((x for x in self.lines if x.tag == tag), None)

    def use(self, line):
        if self.moves:
            self.lines.remove(line)
            self.lines.append(line)

    def put(self, line):
        victim = self.lines.pop(0) if len(self.lines) == self.ways else None
        self.lines.append(line)
        return victim

    def remove(self, line):
        self.lines.remove(line)


class Ways:
    """plru, random, rrip: lines stay where they are put, in the first way that is free."""

    def __init__(self, policy, ways, number):
        self.policy, self.ways = policy, [None] * ways
        self.random = ((number + 1) * 0x9e3779b1 | 1) & 0xffffffff
        self.left_is_older = defaultdict(lambda: True)  # plru: of each (from, to) range of ways

    def find(self, tag):
        return next((x for x in self.ways if x and x.tag == tag), None)

    def use(self, line):
        line.age = 0
        self.point_away(self.ways.index(line))

    def point_away(self, way):
        low, high = 0, len(self.ways)
        while high - low > 1:
            middle = (low + high) // 2
            self.left_is_older[low, high] = way >= middle
            low, high = (middle, high) if way >= middle else (low, middle)

    def victim(self):
        if self.policy == "random":
            x = self.random
            x ^= x << 13 & 0xffffffff
            x ^= x >> 17
            x ^= x << 5 & 0xffffffff
            self.random = x
            return x % len(self.ways)
        if self.policy == "rrip":
            while all(x.age < 3 for x in self.ways):
                for x in self.ways:
                    x.age += 1
            return next(i for i, x in enumerate(self.ways) if x.age == 3)
        low, high = 0, len(self.ways)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.left_is_older[low, high] else (middle, high)
        return low

    def put(self, line):
        way = self.ways.index(None) if None in self.ways else self.victim()
        victim, self.ways[way] = self.ways[way], line
        self.point_away(way)
        return victim

    def remove(self, line):
        self.ways[self.ways.index(line)] = None


class Cache:
    """One cache, of one core or of all."""

    def __init__(self, shape, sets):
        self.shape, self.n_sets, self.sets = shape, sets, {}
        self.strides = {}

    def set_of(self, tag):
        number = tag[1] if isinstance(tag, tuple) else tag
        index = number % self.n_sets
        if index not in self.sets:
            ordered = self.shape["policy"] in ("lru", "fifo")
            self.sets[index] = Ordered(self.shape["policy"], self.shape["ways"]) if ordered else \
                Ways(self.shape["policy"], self.shape["ways"], index)
        return self.sets[index]

    def peek(self, tag):
        return self.set_of(tag).find(tag)

    def find(self, tag):
        line = self.peek(tag)
        if line:
            self.set_of(tag).use(line)
        return line

    def put(self, line):
        return self.set_of(line.tag).put(line)

    def remove(self, tag):
        line = self.peek(tag)
        if line:
            self.set_of(tag).remove(line)
        return line


# -- Why one of them misses -----------------------------------------------------------------------------------------------

class Why:
    """What a cache is told to remember, one for each core or one for all. Points are (pc, kind)."""

    def __init__(self, shape):
        self.shape = shape
        self.points = defaultdict(Counter)
        self.bytes = defaultdict(Counter)  # by address
        self.touched = defaultdict(set)    # addresses, by point
        self.evictors = Counter()          # (point, point by which)
        self.byte_evictors = Counter()     # (address, address for which)
        self.cores = defaultdict(lambda: dict(full=OrderedDict(), known=set(), taken=set(), here={}))

    def core(self, number):
        return self.cores[number if self.shape["private"] else None]

    def wanted(self, a, tag):
        """The bytes of a line that an access wants."""
        start = tag * self.shape["line"]
        return range(max(a.address, start), min(a.address + a.size, start + self.shape["line"]))

    def origin(self, a, tag):
        return (list(self.wanted(a, tag)) or [tag * self.shape["line"]])[0]

    def pieces(self, a, tag):
        """Bytes, of long lines pieces of which there are 64."""
        return {x // max(self.shape["line"] // 64, 1) for x in self.wanted(a, tag)}

    def count(self, point, address, what, n=1):
        self.points[point][what] += n
        self.bytes[address][what] += n

    def ask(self, a, tag, hit, brings):
        c, address = self.core(a.core), self.origin(a, tag)
        self.touched[a.point].add(address)
        if hit:
            self.count(a.point, address, "hits")
            pieces = self.pieces(a, tag)
            if pieces and pieces <= c["here"][tag][2]:
                self.count(a.point, address, "temporal")
        else:
            kind = "cold" if tag not in c["known"] else "taken" if tag in c["taken"] else "conflict" if tag in c["full"] else "capacity"
            self.count(a.point, address, kind)
            self.count(a.point, address, "misses")
        if tag in c["full"] or brings:
            c["full"][tag] = True
            c["full"].move_to_end(tag)
            if len(c["full"]) > self.shape["size"] // self.shape["line"]:
                c["full"].popitem(last=False)
        if brings:
            c["known"].add(tag)

    def put(self, a, tag, victim):
        c, address = self.core(a.core), self.origin(a, tag)
        if victim is not None:
            point, old, used = c["here"].pop(victim)
            self.count(point, old, "evictions")
            self.count(point, old, "used", len(used) * max(self.shape["line"] // 64, 1))
            self.evictors[point, a.point] += 1
            self.byte_evictors[old, address] += 1
        c["here"][tag] = a.point, address, set()
        c["taken"].discard(tag)

    def take(self, core, tag):
        c = self.core(core)
        del c["here"][tag]
        c["taken"].add(tag)
        c["full"].pop(tag, None)

    def use(self, a):
        line, here = self.shape["line"], self.core(a.core)["here"]
        for tag in range(a.address // line, (a.address + a.size - 1) // line + 1):
            if tag in here:
                here[tag][2].update(self.pieces(a, tag))


# -- Descriptions ---------------------------------------------------------------------------------------------------------

def number(text):
    return int(text[:-1], 0) << {"K": 10, "M": 20, "G": 30}[text[-1]] if text[-1] in "KMG" else int(text, 0)


def describe(text):
    """Caches, TLBs, cores, ranges of huge pages."""
    caches, tlbs, cores, huge = {}, [], 64, []
    for line in text.splitlines():
        name, *words = line.split("#")[0].split() or [""]
        if name == "cores":
            cores = int(words[0])
        elif name in ("memory", "ipc"):
            pass  # nothing that is counted depends on time
        elif name == "huge":
            start, end = (0, 1 << 64) if words[0] == "all" else (int(x, 16) for x in words[0].split("-"))
            huge.append((start // HUGE * HUGE, (end + HUGE - 1) // HUGE * HUGE))
        elif name:
            s = dict(name=name, line=64, policy="lru", write="back", allocate="yes", prefetch="none", inclusion="neither",
                     private=name.endswith("TLB"), page="both")
            for word in words:
                key, _, value = word.partition("=")
                if value:
                    s[key] = value
                elif key in ("private", "shared"):
                    s["private"] = key == "private"
                else:
                    s["inclusion"] = key
            for key in ("size", "ways", "line", "entries"):
                if key in s and s[key] != "full" and isinstance(s[key], str):
                    s[key] = number(s[key])
            if s["ways"] == "full":
                s["ways"] = s["entries"] if "entries" in s else s["size"] // s["line"]
            if name.endswith("TLB"):
                tlbs.append(s)
            else:
                caches[name] = s
    return caches, tlbs, cores, huge


# -- The hierarchy --------------------------------------------------------------------------------------------------------

class Access:
    """Of one core to one line."""

    def __init__(self, core, side, pc, address, size, kind, writes=False, stores=False):
        self.core, self.side, self.pc, self.address, self.size = core, side, pc, address, size
        self.writes, self.stores = writes, stores
        self.missed, self.shared = set(), False
        self.point = pc, "fetch" if side == "I" else "write" if kind == "store" else "read"


class Model:
    def __init__(self, text, sharing=False, why=None):
        """why: the name of a cache that is to be looked at."""
        self.caches, self.tlbs, self.cores, self.huge = describe(text)
        self.paths = {side: [s for n in "1234" for s in (self.caches.get(f"L{n}{side}"), self.caches.get(f"L{n}")) if s] for side in "ID"}
        self.levels = len(self.paths["D"])
        self.private = sum(s["private"] for s in self.paths["D"])
        self.sharing = sharing
        self.why = Why(self.caches[why]) if why else None
        self.instances = {}  # by name and core
        self.stats = defaultdict(lambda: dict(writebacks=0, withdrawn=0, prefetches=0, useful=0))
        self.upgrades = self.interventions = 0
        self.ran = [False] * self.cores
        self.counts = defaultdict(lambda: defaultdict(int))
        self.lost = {}                                     # (line, core): bytes written since
        self.lines = defaultdict(lambda: [0, 0, 0, set()])  # invalidations, misses, false ones, cores

    def cache(self, shape, core):
        key = shape["name"], shape["page"], core if shape["private"] else None
        if key not in self.instances:
            sets = shape["entries"] // shape["ways"] if "entries" in shape else shape["size"] // shape["line"] // shape["ways"]
            self.instances[key] = Cache(shape, sets)
        return self.instances[key]

    def at(self, access, level):
        return self.cache(self.paths[access.side][level], access.core)

    def watches(self, shape):
        return self.why and self.why.shape is shape

    # Coherence: a line is in a core if a private cache of that has it.

    def copies(self, core, tag):
        found = [self.cache(s, core).peek(tag) for s in self.caches.values() if s["private"]]
        return [line for line in found if line]

    def agree(self, a, tag, writes, is_prefetch):
        """The core is about to read or write a line; will it be shared?"""
        mine = self.copies(a.core, tag)
        if mine and not (writes and mine[0].shared):
            return mine[0].shared
        if mine:
            self.upgrades += 1
        elif (tag, a.core) in self.lost:
            self.regain(a, tag, is_prefetch)
        others = False
        for core in range(self.cores):
            copies = self.copies(core, tag) if core != a.core and self.ran[core] else []
            if not copies:
                continue
            others = True
            dirty = any(line.dirty for line in copies)
            for line in copies:
                line.shared, line.dirty = True, False
            if writes:
                for s in self.caches.values():
                    if s["private"] and self.cache(s, core).remove(tag) and self.watches(s):
                        self.why.take(core, tag)
                self.counts[a.pc]["Inv"] += 1
                self.lost[tag, core] = set()
                self.lines[tag][0] += 1
                self.lines[tag][3].add(core)
            if dirty:
                self.interventions += 1
                as_data = copy.copy(a)
                as_data.side = "D"
                self.give(as_data, self.private, Line(tag, dirty=True))
        for line in mine:
            line.shared = False
        return others and not writes

    def bytes_of(self, a):
        grain = max(self.paths["D"][0]["line"] // 64, 1)
        return set(range(a.address // grain, (a.address + a.size - 1) // grain + 1))

    def regain(self, a, tag, is_prefetch):
        written = self.lost.pop((tag, a.core))
        if is_prefetch:
            return
        is_false = not written & self.bytes_of(a)
        self.counts[a.pc]["Shm"] += 1
        self.counts[a.pc]["Fsm"] += is_false
        self.lines[tag][1] += 1
        self.lines[tag][2] += is_false

    # Lines that leave a cache.

    def evict(self, a, level, line):
        shape = self.paths[a.side][level]
        if shape["inclusion"] == "inclusive":
            line.dirty |= self.withdraw(a, level, line.tag)
        self.stats[shape["name"]]["writebacks"] += line.dirty
        if level + 1 < self.levels and (line.dirty or self.paths[a.side][level + 1]["inclusion"] == "exclusive"):
            self.give(a, level + 1, line)

    def withdraw(self, a, level, tag):
        shape, dirty = self.paths[a.side][level], False
        above = {s["name"]: s for path in self.paths.values() if path[level] is shape for s in path[:level]}
        for s in above.values():
            for core in [a.core] if shape["private"] or not s["private"] else range(self.cores):
                line = self.cache(s, core).remove(tag) if self.ran[core] else None
                self.stats[shape["name"]]["withdrawn"] += line is not None
                dirty |= line is not None and line.dirty
                if line and self.watches(s):
                    self.why.take(core, tag)
        return dirty

    def give(self, a, level, line):
        if level == self.levels:
            return
        shape, cache = self.paths[a.side][level], self.at(a, level)
        there, passes_on = cache.peek(line.tag), line.dirty and shape["write"] == "through"
        if there:
            there.dirty |= line.dirty and not passes_on
        elif shape["allocate"] == "yes":
            self.put(a, level, Line(line.tag, line.dirty and not passes_on, line.shared))
        else:
            passes_on = True
        if passes_on:
            self.give(a, level + 1, line)

    def put(self, a, level, line):
        line.shared &= level < self.private
        victim = self.at(a, level).put(line)
        if self.watches(self.paths[a.side][level]):
            self.why.put(a, line.tag, victim and victim.tag)
        if victim:
            self.evict(a, level, victim)

    # Lines that are asked for.

    def reach(self, a, level, tag, writes, stores, demand):
        """A level is asked for a line, to write it or not; was it given away, and dirty?"""
        if level == self.levels:
            return False
        shape, cache = self.paths[a.side][level], self.at(a, level)
        line = cache.find(tag)
        if demand and self.watches(shape):
            self.why.ask(a, tag, line is not None, not (stores and shape["allocate"] == "no"))
        if line:
            given = self.hit(a, level, line, writes, stores, demand)
        else:
            if demand:
                a.missed.add(level)
            given = self.miss(a, level, tag, writes, stores, demand)
        if demand and shape["prefetch"] != "none":
            self.prefetch(a, level, tag, line is None)
        return given

    def below(self, a, level, tag, *how):
        if level + 1 == self.levels:
            return False
        ours, theirs = self.paths[a.side][level]["line"], self.paths[a.side][level + 1]["line"]
        first, last = tag * ours // theirs, (tag * ours + ours - 1) // theirs
        return any([self.reach(a, level + 1, n, *how) for n in range(first, last + 1)])

    def hit(self, a, level, line, writes, stores, demand):
        shape = self.paths[a.side][level]
        if line.prefetched and demand:
            line.prefetched = False
            self.stats[shape["name"]]["useful"] += 1
        if shape["inclusion"] == "exclusive":
            self.at(a, level).remove(line.tag)
            return line.dirty
        if writes and shape["write"] == "through":
            self.below(a, level, line.tag, writes, stores, demand)
        elif writes:
            line.dirty = True
        return False

    def miss(self, a, level, tag, writes, stores, demand):
        shape = self.paths[a.side][level]
        passes_by = stores and shape["allocate"] == "no"
        goes_on = passes_by or shape["write"] == "through"
        dirty = self.below(a, level, tag, writes and goes_on, stores and goes_on, demand)
        if shape["inclusion"] == "exclusive":
            return dirty
        if not passes_by:
            self.put(a, level, Line(tag, dirty or writes and not goes_on, a.shared))
        return False

    def prefetch(self, a, level, tag, missed):
        shape = self.paths[a.side][level]
        if shape["prefetch"] == "next":
            target = tag + missed
        elif a.side == "I":
            return
        else:
            target = self.next_address(a, level) // shape["line"]
        if target == tag or target * shape["line"] // PAGE != tag * shape["line"] // PAGE or self.at(a, level).peek(target):
            return
        self.stats[shape["name"]]["prefetches"] += 1
        shared, a.shared = a.shared, False
        if level < self.private:
            a.shared = self.agree(a, target, False, True)
        dirty = self.below(a, level, target, False, False, False)
        self.put(a, level, Line(target, dirty, a.shared, prefetched=True))
        a.shared = shared

    def next_address(self, a, level):
        table = self.at(a, level).strides
        entry = table.get(a.pc % 256)
        if not entry or entry["pc"] != a.pc:
            table[a.pc % 256] = dict(pc=a.pc, address=a.address, step=0, seen=0)
            return a.address
        step = a.address - entry["address"]
        entry["seen"] = min(entry["seen"] + 1, 3) if step and step == entry["step"] else 0
        entry.update(step=step, address=a.address)
        return a.address + step if entry["seen"] >= 2 else a.address

    # Events.

    def touch_line(self, a):
        tag = a.address // self.paths[a.side][0]["line"]
        if self.private:
            line = self.at(a, 0).peek(tag)
            if not line or a.writes and line.shared:
                a.shared = self.agree(a, tag, a.writes, False)
            if a.writes and tag in self.lines:
                self.lines[tag][3].add(a.core)
                for (other, core), written in self.lost.items():
                    if other == tag and core != a.core:
                        written |= self.bytes_of(a)
        self.reach(a, 0, tag, a.writes, a.stores, True)
        if self.why and self.why.shape in self.paths[a.side]:
            self.why.use(a)
        return a.missed

    def touch_pages(self, core, side, address, size):
        missed, end = set(), address + size
        while address < end:
            huge = any(start <= address < stop for start, stop in self.huge)
            page = HUGE if huge else PAGE
            for level, name in enumerate((side + "TLB", "STLB")):
                tlb = next((s for s in self.tlbs if s["name"] == name and s["page"] in ("both", "2M" if huge else "4K")), None)
                tag = huge, address // page
                if tlb and self.cache(tlb, core).find(tag):
                    break
                missed.add(level)
                if tlb:
                    self.cache(tlb, core).put(Line(tag))
            address = (address // page + 1) * page
        return missed

    def event(self, thread, pc, what, address, size):
        core, side, n = thread % self.cores, "I" if what == "exec" else "D", self.counts[pc]
        first, end = ("I", "r") if what == "exec" else ("D", "w" if what == "store" else "r")
        self.ran[core] = True
        address &= (1 << 48) - 1
        n[first + end] += 1
        tracks = self.paths["D"][0]["write"] != "ignore"
        missed, line, at = set(), self.paths[side][0]["line"], address
        while at < address + size:
            next_at = min((at // line + 1) * line, address + size)
            missed |= self.touch_line(Access(core, side, pc, at, next_at - at, what, tracks and what in ("store", "modify"),
                                             tracks and what == "store"))
            at = next_at
        for level in missed:
            n[f"{first}{'L' if 0 < level == self.levels - 1 else level + 1}m{end}"] += 1
        if any(s["name"] == side + "TLB" for s in self.tlbs):
            for level in self.touch_pages(core, side, address, size):
                if level == 0 or any(s["name"] == "STLB" for s in self.tlbs):
                    n[f"{first}{'TS'[level]}m{end}"] += 1
        return missed

    def run(self, events):
        for event in events:
            self.event(*event)
        return self
