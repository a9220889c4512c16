# SPDX-License-Identifier: MIT
"""The tree of calls, derived plainly from lists of events by the definition in gait-calls(1).

What a thread did is a list of
    ("ran", pc, reads, writes, rsp)                  an instruction, and the stack pointer behind it; None: not known
    ("signal", number, handler, pc, before, behind)  it interrupted pc; the stack pointer before and behind
    ("leap", rsp)                                    a handler returned, or something unknown happened
behind ("begin", rsp), and comes from the stepper, which tells every stack pointer, or from `gait dump`, where it is inferred from what instructions touch.
`code` has what decode() says of each instruction, by its address. A tree is a dict: a path of (function, module) pairs to [calls, instructions, reads, writes,
misses], the misses of i1, d1 and ll: what each instruction of a thread missed may be told, too.
"""
import re
import struct
import subprocess
from bisect import bisect_right
from collections import defaultdict

NEAR, SPAN, FAR = 4096, 8 << 20, 4096


# -- Instructions -------------------------------------------------------------------------------------------------------

def decode(code):
    """What an instruction's bytes do to the flow and to rsp: (kind, effect, immediate or displacement)."""
    i, rex, short = 0, 0, False
    while code[i] in (0x66, 0xf2, 0xf3, 0x2e, 0x3e, 0x26, 0x36, 0x64, 0x65, 0x67):
        short |= code[i] == 0x66
        i += 1
    if code[i] & 0xf0 == 0x40:
        rex = code[i]
        i += 1
    op, rest = code[i], code[i + 1:]
    modrm = rest[0] if rest else 0
    reg, rm = modrm >> 3 & 7, modrm & 7
    if op == 0xe8 or (op == 0xff and reg == 2):
        return "call", None, 0
    if op in (0xe9, 0xeb) or (op == 0xff and reg == 4):
        return "jump", stack_operand(op, rest, rex), 0
    if op in (0xc3, 0xc2):
        return "ret", "ret", struct.unpack("<H", rest[:2])[0] if op == 0xc2 else 0
    if 0x70 <= op <= 0x7f or (op == 0x0f and 0x80 <= rest[0] <= 0x8f):
        return "branch", None, 0
    if op == 0x0f and rest[0] == 0x05:
        return "syscall", None, 0
    if 0x50 <= op <= 0x57 or op in (0x68, 0x6a, 0x9c) or (op == 0xff and reg == 6):
        return "plain", "push", 2 if short else 8
    if 0x58 <= op <= 0x5f and not (op == 0x5c and not rex & 1) or op in (0x9d, 0x8f):
        return "plain", "pop", 2 if short else 8
    if op == 0xc9:
        return "plain", "leave", 0
    if rex & 8 and not rex & 1 and op in (0x83, 0x81) and modrm in (0xc4, 0xec):
        n = struct.unpack("<b" if op == 0x83 else "<i", rest[1:2] if op == 0x83 else rest[1:5])[0]
        return "plain", "add", n if modrm == 0xc4 else -n
    if rex == 0x48 and op == 0x8d and rest[:2] in (b"\x64\x24", b"\xa4\x24"):
        return "plain", "add", struct.unpack("<b" if rest[0] == 0x64 else "<i", rest[2:])[0]
    if may_change_rsp(op, rest, rex, reg, rm):
        return "plain", "unknown", 0
    return "plain", stack_operand(op, rest, rex), 0


def stack_operand(op, rest, rex):
    """("at", displacement) if it names memory at rsp + displacement."""
    if op == 0x0f:
        op, rest = 0x0f00 | rest[0], rest[1:]
    has_modrm = op in (0x8b, 0x89, 0x88, 0x8a, 0xff, 0x83, 0x81, 0xc7, 0xc6, 0x3b, 0x39, 0x03, 0x01, 0x2b, 0x29, 0x0fb6, 0x0f11, 0x0f10, 0x0f29, 0x0f28)
    if not has_modrm or len(rest) < 2 or rest[0] & 7 != 4 or rest[0] >> 6 == 3 or rest[1] & 0x3f != 0x24 or rex & 3:
        return None
    size = {0: 0, 1: 1, 2: 4}[rest[0] >> 6]
    return "at", {0: 0, 1: struct.unpack("<b", rest[2:3])[0] if size == 1 else 0, 4: struct.unpack("<i", rest[2:6])[0] if size == 4 else 0}[size]


def may_change_rsp(op, rest, rex, reg, rm):
    """A destination of rsp in an instruction that integer code uses for that."""
    mod = rest[0] >> 6 if rest else 0
    to_rm = op in (0x89, 0x01, 0x29, 0x21, 0x83, 0x81, 0x87, 0xff) and mod == 3 and rm == 4 and not rex & 1
    to_reg = op in (0x8b, 0x03, 0x2b, 0x23, 0x8d, 0x87) and reg == 4 and not rex & 4
    return (to_rm and not (op in (0x83, 0x81) and reg == 7)) or to_reg or op == 0xc8 or (op == 0x5c and not rex & 1) or (op == 0xbc and not rex & 1)


# -- What threads did ---------------------------------------------------------------------------------------------------

def threads_of_stepper(lines, code):
    """From the lines of `stepper --stack`; there is one thread."""
    did, pending = [], None

    def behind(pc, rsp):
        """The instruction before is done: the next begins, or is interrupted, at pc with this stack pointer."""
        nonlocal pending
        if pending and pending[0] == "signal":
            did.append((*pending[:2], pc, *pending[3:5], rsp))
        elif pending:
            did.append((*pending[:4], rsp))
            if pc and code[pending[1]][0] == "syscall" and pc != pending[1] + 2:
                did.append(("leap", rsp))
        pending = None

    lines = iter(lines)
    for line in lines:
        what, (at, size) = line[:3], line[3:].split(",")
        if what == "I  " or what == "H  ":
            rsp = int(next(lines)[3:].split(",")[0], 16)
            if not did and not pending:
                did.append(("begin", rsp))
            behind(int(at, 16), rsp)
            pending = ["ran", int(at, 16), 0, 0] if what == "I  " else ["signal", int(size), None, int(at, 16), rsp]
        else:
            pending[3 if what == " S " else 2] += 1
    behind(0, None)
    return {0: did}


def touched(effect, n, before, loads, stores):
    """The stack pointer (before, behind) an instruction, from what it touched and what is known of before."""
    if effect == "call":
        return stores[-1] + 8, stores[-1]
    if effect == "push":
        return stores[-1] + n, stores[-1]
    if effect in ("pop", "ret"):
        return loads[0], loads[0] + 8 + n if effect == "ret" else loads[0] + n
    if effect == "leave":
        return before, loads[0] + 8
    if effect == "add":
        return before, None if before is None else before + n
    if effect == "unknown":
        return before, None
    if effect and (loads or stores):
        before = (loads or stores)[0] - effect[1]
    return before, before


def infer(did, code):
    """Put in the stack pointers: forwards, and from where they become known back to where they were lost."""
    rsp, lost = None, []
    for k, x in enumerate(did):
        if x[0] != "ran":
            if x[0] == "signal":
                did[k] = (*x[:4], rsp, x[5])
            rsp, lost = x[-1], []
            continue
        _, pc, loads, stores, _ = x
        kind, effect, n = code[pc]
        before, behind = touched("call" if kind == "call" else effect, n, rsp, loads, stores)
        if rsp is None and before is not None:
            for j, moved in reversed(lost):
                did[j] = (*did[j][:4], before)
                if moved is None:
                    break
                before -= moved
            lost = []
        did[k] = (*x[:4], behind)
        if behind is None:
            lost.append((k, n if effect == "add" else None if effect == "unknown" else 0))
        rsp = behind
    for k, x in enumerate(did):
        if x[0] == "ran":
            did[k] = ("ran", x[1], len(x[2]), len(x[3]), x[4])
    return did


def threads_of_dump(lines, code):
    """From the lines of `gait dump`. What only reads or modifies is a read."""
    threads, waiting = defaultdict(list), {}
    for line in lines:
        words = line.split()
        thread, did = int(words[0]), threads[int(words[0])]
        if words[2] == "exec":
            did.append(("ran", int(words[1], 16), [], [], None))
        elif words[2] in ("load", "modify", "store"):
            did[-1][3 if words[2] == "store" else 2].append(int(words[3], 16))
        elif words[2] in ("signal", "sigreturn", "stepped", "lost"):
            waiting[thread] = words
        elif words[2] == "state":
            rsp, what = int(words[3], 16), waiting.pop(thread, [None] * 3)
            if what[2] == "signal":
                did.append(("signal", int(what[3], 16), int(what[4], 16), int(what[5], 16), None, rsp))
            elif what[2]:
                did.append(("leap", rsp))
            elif not did:
                did.append(("begin", rsp))
    return {n: infer(did, code) for n, did in threads.items()}


def misses_of_dump(lines, model):
    """What each instruction of each thread missed, by a simulator of caches."""
    threads = defaultdict(list)
    for thread, pc, what, address, size in (line.split()[:5] for line in lines if line.split()[2] in ("exec", "load", "modify", "store")):
        if what == "exec":
            threads[int(thread)].append([0, 0, 0])
        missed, here = model.event(int(thread), int(pc, 16), what, int(address, 16), int(size)), threads[int(thread)][-1]
        here[what != "exec"] += 0 in missed
        here[2] += model.levels - 1 in missed
    return threads


# -- Functions ----------------------------------------------------------------------------------------------------------

def readelf(option, path):
    return subprocess.run(["readelf", option, path], capture_output=True, text=True, errors="replace").stdout


def beginnings(path):
    """Where functions begin in a file, by what readelf says of its frames: offsets, ascending."""
    if not path or path[0] != "/":
        return []
    segments = [[int(x, 16) for x in line.split()[1:6]] for line in readelf("-lW", path).splitlines() if line.split()[:1] == ["LOAD"]]
    starts = {int(x, 16) for x in re.findall(r" FDE .*pc=([0-9a-f]+)\.\.", readelf("--debug-dump=frames", path))}
    return sorted(start - at + offset for start in starts for offset, at, _, size, _ in segments if at <= start < at + size)


class Functions:
    """The function of an address. names: (module, offset) to the symbol's name; modules: (start, end, offset, path)."""

    def __init__(self, names, modules, threads, code):
        self.names, self.modules = names, modules
        self.called, self.known, self.begun = set(), {}, {}
        for did in threads.values():
            for x, y in zip(did, did[1:]):
                if x[0] == "signal":
                    self.called.add(x[2])
                if x[0] == "ran" and code[x[1]][0] == "call" and place(y):
                    self.called.add(place(y))
        self.called = sorted((module or "", offset) for module, offset in map(self.find, self.called))

    def find(self, pc):
        for start, end, offset, path in reversed(self.modules):
            if start <= pc < end:
                return path, pc - start + offset
        return None, pc

    def of(self, pc):
        if pc not in self.known:
            module, offset = self.find(pc)
            name = self.names.get((module, offset))
            if name is None:
                k = bisect_right(self.called, (module or "", offset))
                before = self.called[k - 1] if k else ("no module", 0)
                if module not in self.begun:
                    self.begun[module] = beginnings(module)
                k = bisect_right(self.begun[module], offset)
                nearest = [self.begun[module][k - 1]] if k else []
                nearest += [before[1]] if before[0] == (module or "") else []
                self.known[pc] = hex(max(nearest, default=offset)), module, True
            else:
                self.known[pc] = name.split(".cold")[0] or name, module, False
        return self.known[pc]


def place(x):
    """Where a thread is when this begins."""
    return x[1] if x[0] == "ran" else x[3] if x[0] == "signal" else None


# -- Frames -------------------------------------------------------------------------------------------------------------

class Tree:
    def __init__(self):
        self.nodes = defaultdict(lambda: [0] * 7)
        self.jumps = defaultdict(lambda: defaultdict(int))

    def without_leads(self):
        """Nameless code that called nothing and always jumped on to one function is part of that."""
        parents = {path[:-1] for path in self.nodes}

        def leads(path):
            to = self.jumps.get(path, {})
            return path[-1][2] and path not in parents and len(to) == 1 and sum(to.values()) == self.nodes[path][0]

        ends = {}
        for path in list(self.nodes):
            at = path
            for _ in range(17):
                if not leads(at):
                    break
                at, = self.jumps[at]
            ends[path] = path if leads(at) else at
        nodes = defaultdict(lambda: [0] * 7)
        for path, n in self.nodes.items():
            to, same = nodes[tuple(f[:2] for f in ends[path])], ends[path] == path
            to[0] += n[0] if same else 0
            for k in range(1, 7):
                to[k] += n[k]
        return {p: n for p, n in nodes.items() if p}


class Frame:
    def __init__(self, slot, path, fixed=False):
        self.slot, self.path, self.fixed = slot, path, fixed


class Thread:
    def __init__(self, tree, functions, code, root, misses):
        self.tree, self.functions, self.code, self.root, self.misses = tree, functions, code, root, iter(misses)
        self.now, self.others = None, []  # frames; (low, frames) of stacks that were left

    def enter(self, path):
        self.tree.nodes[path][0] += 1
        return path

    def below(self, path, pc):
        return path + (self.functions.of(pc),)

    def other(self, rsp):
        at = [(frames[0].slot, k) for k, (low, frames) in enumerate(self.others) if frames[0].slot >= rsp]
        if at and self.others[min(at)[1]][0] <= rsp:
            return min(at)[1]
        return None

    def change(self, other, low, keep, slot, path):
        left = (low, self.now)
        self.now = self.others.pop(other)[1] if other is not None else [Frame(slot, path)]
        if keep or len(left[1]) > 1:
            self.others.append(left)

    def find(self, rsp, slot, path):
        """Go to the stack that rsp is on; True if it is another one."""
        top, high = self.now[-1].slot, self.now[0].slot
        if -NEAR <= rsp - top < NEAR:
            return False
        other = self.other(rsp)
        if other is None and (0 < top - rsp <= SPAN or (rsp >= top and rsp - high <= SPAN)):
            return False
        self.change(other, top, False, slot, path)
        return True

    def end(self, rsp):
        while len(self.now) > 1 and self.now[-1].slot < rsp:
            self.now.pop()
        if len(self.now) == 1:
            self.now[0].slot = max(self.now[0].slot, rsp)

    def call(self, rsp, pc):
        path = self.now[-1].path
        moved = self.find(rsp, rsp + 8, path)
        self.end(rsp + 8)
        if moved and len(self.now) == 1:
            self.now[0].path = path
        elif moved:
            self.now.append(Frame(rsp + 8, path, fixed=True))
        self.now.append(Frame(rsp, self.enter(self.below(path, pc))))

    def jump(self, rsp, pc):
        self.find(rsp, rsp, self.now[-1].path)
        self.end(rsp)
        top = self.now[-1]
        if pc is None or top.fixed or top.slot != rsp:
            return
        to = self.below(top.path[:-1], pc)
        if to != top.path:
            self.tree.jumps[top.path][to] += 1
            top.path = self.enter(to)

    def signal(self, number, handler, before, rsp):
        path, top = self.now[-1].path, self.now[-1].slot
        other = self.other(rsp)
        if other is not None or not 0 < top - rsp <= SPAN:
            self.change(other, before, True, rsp + 16, path)
        self.end(rsp + 16)
        sent = self.enter(path + ((f"[signal {number}]", None, False),))
        self.now.append(Frame(rsp + 8, sent, fixed=True))
        self.now.append(Frame(rsp, self.enter(self.below(sent, handler))))

    def ran(self, x, y):
        _, pc, reads, writes, rsp = x
        node = self.tree.nodes[self.now[-1].path]
        node[1] += 1
        node[2] += reads
        node[3] += writes
        node[4:] = map(sum, zip(node[4:], next(self.misses, (0, 0, 0))))
        kind = self.code[pc][0]
        to = place(y) if y else None
        if to is None or rsp is None:
            return
        if kind == "call":
            self.call(rsp, to)
        elif kind in ("jump", "ret") or (kind == "branch" and abs(to - pc) >= FAR):
            self.jump(rsp, to)

    def run(self, did):
        for k, x in enumerate(did):
            if x[0] == "begin":
                continue
            if self.now is None:
                self.now = [Frame(did[0][1], self.enter(self.below(self.root, place(x))))]
            if x[0] == "ran":
                self.ran(x, did[k + 1] if k + 1 < len(did) else None)
            elif x[0] == "signal":
                self.signal(x[1], x[2], x[4], x[5])
            else:
                self.jump(x[1], None)


def derive(threads, functions, code, apart=False, misses={}):
    tree = Tree()
    for number, did in threads.items():
        Thread(tree, functions, code, ((f"[thread {number}]", None, False),) if apart else (), misses.get(number, ())).run(did)
    return tree.without_leads()
