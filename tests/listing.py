# SPDX-License-Identifier: MIT
"""What objdump says of a program's instructions, in the words that gait uses: a second opinion on every instruction.

    listing(program)    {address: Insn} of a program that is loaded where it was linked (-static -no-pie)
    ways(trace)         every instruction that ran, and the one that its thread ran or was about to run next
"""
import re
import subprocess
from dataclasses import dataclass

from cases import GAIT

PREFIXES = {"rep", "repz", "repnz", "lock", "bnd", "notrack", "data16", "addr32", "cs", "ds", "es", "ss", "fs", "gs", "rex.W", "rex.WRXB"}
CONDITIONS = {"e": "z", "ne": "nz", "ae": "nb", "a": "nbe", "ge": "nl", "g": "nle"}
OTHER_NAMES = {"movabs": "mov", "sal": "shl", "pushf": "pushfq", "popf": "popfq"}
STRINGS = ("movs", "stos", "cmps", "scas", "lods")
STRING_SIZES = {"BYTE": "b", "WORD": "w", "DWORD": "d", "QWORD": "q"}
VECTORS = (("zmm", "512"), ("ymm", "256"), ("xmm", "128"), ("mm", "64"))
CONDITIONAL = re.compile(r"j(?!mp)[a-z]+|loop[a-z]*")


@dataclass
class Insn:
    pc: int
    size: int
    name: str
    operands: str

    def goes(self):
        """cond, jump, ijump, call, icall, ret, kernel, or nothing."""
        direct = re.match(r"[0-9a-f]+\b", self.operands) is not None
        if self.name in ("jmp", "call"):
            return ("" if direct else "i") + {"jmp": "jump", "call": "call"}[self.name]
        if CONDITIONAL.fullmatch(self.name):
            return "cond"
        return {"ret": "ret", "syscall": "kernel"}.get(self.name)

    def vector(self):
        for word, width in VECTORS:
            if re.search(rf"\b{word}\d", self.operands):
                return "scalar" if width == "128" and is_scalar(self.name) else width
        return "none"


def is_scalar(name):
    bare = name.removeprefix("v")
    if bare in ("movd", "movq"):
        return True
    return not bare.startswith(("p", "broadcast")) and re.search(r"s[sdh](2|$)", bare) is not None


def plain_name(name, operands, code):
    """Intel's name for what objdump calls by a name of its own."""
    if name in STRINGS:
        return name + STRING_SIZES[re.search(r"[BDQ]?(?:BYTE|WORD)", operands)[0]]
    for family in ("j", "set", "cmov"):
        if name.startswith(family) and name[len(family):] in CONDITIONS:
            return family + CONDITIONS[name[len(family):]]
    comparison = re.fullmatch(r"(v?cmp)(?:eq|lt|le|unord|neq|nlt|nle|ord|nge|ngt|false|ge|gt|true)(?:_[a-z]+)?(p[sdh]|s[sdh])", name)
    if comparison:
        return comparison[1] + comparison[2]
    integers = re.fullmatch(r"vpcmp(?:eq|neq|lt|le|nlt|nle)(u?[bwdq])", name)
    if integers and code[0] == "62" and code[4] in ("1e", "1f", "3e", "3f"):
        return "vpcmp" + integers[1]
    if (name, operands) == ("xchg", "ax,ax"):
        return "nop"
    return OTHER_NAMES.get(name, name)


def listing(program):
    out = subprocess.run(["objdump", "-d", "-w", "-M", "intel", program], capture_output=True, text=True, check=True).stdout
    insns = {}
    for line in out.splitlines():
        parts = line.split("\t")
        if len(parts) < 3 or not parts[0].endswith(":"):
            continue
        words = parts[2].split("#")[0].split()
        while words[0] in PREFIXES and len(words) > 1:
            words.pop(0)
        pc, operands = int(parts[0].strip()[:-1], 16), " ".join(words[1:])
        code = parts[1].split()
        insns[pc] = Insn(pc, len(code), plain_name(words[0], operands, code), operands)
    return insns


def ways(trace, *options):
    """(thread, pc, size, next pc or None), in the order of the trace. Where a signal comes or an instruction ran natively, the record of
    that says which pc the thread had come to."""
    out = subprocess.run([GAIT, "dump", *options, trace], capture_output=True, text=True, check=True).stdout
    ran, last = [], {}
    for line in out.splitlines()[1:]:
        words = line.split()
        thread, pc = int(words[0]), None
        if words[2] == "exec":
            pc = int(words[1], 16)
        elif words[2] in ("signal", "stepped"):
            pc = int(words[5 if words[2] == "signal" else 3], 16)
        elif words[2] not in ("lost", "native"):
            continue
        if thread in last:
            ran[last.pop(thread)][3] = pc
        if words[2] == "exec":
            last[thread] = len(ran)
            ran.append([thread, pc, int(words[4]), None])
    return ran
