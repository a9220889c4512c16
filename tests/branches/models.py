# SPDX-License-Identifier: MIT
"""Predictors, written from gait-branches(1) alone and as plainly as it says them.

    run(ways, insns, Options(..))    {pc: [executed, taken, mispredicted]} by kind: conditional, indirect, returns
"""
from collections import defaultdict
from dataclasses import dataclass, field
from math import floor


@dataclass
class Options:
    predictor: str = "tage"
    entries: int = 16384
    history: int = 12
    tage: tuple = (6, 1024, 10, 4, 160)
    aging: int = 262144
    targets: int = 4096
    returns: int = 16
    threads: str = "private"

    def words(self):
        return [f"--{name}={','.join(map(str, value)) if name == 'tage' else value}" for name, value in vars(self).items()]


def learn(counters, i, taken):
    counters[i] = min(counters[i] + 1, 3) if taken else max(counters[i] - 1, 0)


# -- Conditional branches -----------------------------------------------------------------------------------------------

class Bimodal:
    def __init__(self, o):
        self.counters = [1] * o.entries

    def index(self, p, history):
        return p % len(self.counters)

    def foretell(self, p, history, taken):
        """Was it foretold rightly? Then learn the outcome."""
        i = self.index(p, history)
        right = (self.counters[i] >= 2) == taken
        learn(self.counters, i, taken)
        return right


class Gshare(Bimodal):
    def __init__(self, o):
        super().__init__(o)
        self.bits = o.history

    def index(self, p, history):
        return (p ^ history % 2 ** self.bits) % len(self.counters)


def fold(history, length, w):
    left, folded = history % 2 ** length, 0
    while left:
        folded ^= left % 2 ** w
        left //= 2 ** w
    return folded


@dataclass
class Entry:
    tag: int = 0
    counter: int = 0
    useful: int = 0


class Tage:
    def __init__(self, o):
        self.n, size, self.w, shortest, longest = o.tage
        self.t = size.bit_length() - 1
        self.base = [1] * o.entries
        self.tables = [defaultdict(Entry) for _ in range(self.n)]
        self.lengths = [floor(shortest * (longest / shortest) ** (i / max(self.n - 1, 1)) + 0.5) for i in range(self.n)]
        self.u, self.age, self.aging = 8, 0, o.aging

    def look_up(self, p, history):
        for table, length in zip(self.tables, self.lengths):
            index = (p ^ p >> self.t ^ fold(history, length, self.t)) % 2 ** self.t
            yield table[index], (p ^ fold(history, length, self.w) ^ 2 * fold(history, length, self.w - 1)) % 2 ** self.w

    def foretell(self, p, history, taken):
        found = list(self.look_up(p, history))
        matching = [i for i, (entry, tag) in enumerate(found) if entry.tag == tag]
        base = p % len(self.base)
        says = [self.base[base] >= 2] + [found[i][0].counter >= 0 for i in matching]
        provider = found[matching[-1]][0] if matching else None
        provided, otherwise = says[-1], says[-2] if matching else says[-1]
        new = provider is not None and provider.counter in (0, -1) and provider.useful == 0
        right = (otherwise if new and self.u >= 8 else provided) == taken
        if provider and provided != otherwise:
            if new:
                self.u = min(self.u + 1, 15) if otherwise == taken else max(self.u - 1, 0)
            provider.useful = min(provider.useful + 1, 3) if provided == taken else max(provider.useful - 1, 0)
        if provider:
            provider.counter = min(provider.counter + 1, 3) if taken else max(provider.counter - 1, -4)
        else:
            learn(self.base, base, taken)
        if not right:
            self.allocate(found[matching[-1] + 1 if matching else 0:], taken)
        self.grow_older()
        return right

    def allocate(self, later, taken):
        for entry, tag in later:
            if entry.useful == 0:
                entry.tag, entry.counter, entry.useful = tag, 0 if taken else -1, 0
                return
        for entry, _ in later:
            entry.useful -= 1

    def grow_older(self):
        self.age += 1
        if self.age % self.aging == 0:
            for table in self.tables:
                for entry in table.values():
                    entry.useful //= 2


PREDICTORS = {"bimodal": Bimodal, "gshare": Gshare, "tage": Tage}


# -- Targets ------------------------------------------------------------------------------------------------------------

class Targets:
    def __init__(self, o):
        self.entries = [None] * o.targets

    def foretell(self, p, target):
        i = p % len(self.entries)
        right = self.entries[i] == (p, target)
        self.entries[i] = p, target
        return right


@dataclass
class Thread:
    history: int = 0
    returns: list = field(default_factory=list)
    pending: tuple = None


# -- All together -------------------------------------------------------------------------------------------------------

class Simulation:
    def __init__(self, insns, o):
        self.insns, self.o = insns, o
        self.cores = defaultdict(lambda: (PREDICTORS[o.predictor](o), Targets(o)))
        self.threads = defaultdict(Thread)
        self.counts = {kind: defaultdict(lambda: [0, 0, 0]) for kind in ("conditional", "indirect", "returns")}

    def count(self, kind, pc, taken, right):
        n = self.counts[kind][pc]
        n[0] += 1
        n[1] += taken
        n[2] += not right

    def hop(self, core, thread, kind, pc, target):
        if kind == "ret":
            right = bool(thread.returns) and thread.returns.pop() == target
        else:
            right = core[1].foretell(pc % 2 ** 32, target)
        self.count("returns" if kind == "ret" else "indirect", pc, True, right)

    def step(self, number, pc, size, following):
        thread = self.threads[number]
        core = self.cores[number if self.o.threads == "private" else 0]
        if thread.pending:
            self.hop(core, thread, *thread.pending)
            thread.pending = None
        kind = self.insns[pc].goes()
        if kind == "cond":
            taken = following != pc + size
            self.count("conditional", pc, taken, core[0].foretell(pc % 2 ** 32, thread.history, taken))
            thread.history = (thread.history * 2 + taken) % 2 ** 1024
        if kind in ("call", "icall"):
            thread.returns.append(pc + size)
            del thread.returns[:-self.o.returns]
        if kind in ("icall", "ijump", "ret") and following is not None:
            thread.pending = kind, pc, following


def run(ways, insns, options):
    s = Simulation(insns, options)
    for way in ways:
        s.step(*way)
    for number, thread in s.threads.items():
        if thread.pending:
            s.hop(s.cores[number if options.threads == "private" else 0], thread, *thread.pending)
    return s.counts
