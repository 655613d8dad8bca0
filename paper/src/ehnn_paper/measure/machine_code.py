"""Registers that compiled kernels of a GPU read before they write them.

The assembler of CUDA 12.8, which Triton 3.6 brings, may keep the address of a product's operand for the next
pass of a loop, and read it in the first pass too, where nothing wrote it. Such a kernel reads memory that is
not its own, or is right in most runs. No test of values finds that for certain; the machine code shows it.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path

_INSTRUCTION = re.compile(r"^\s*/\*[0-9a-f]{4,6}\*/\s+(?:@!?(?P<when>U?P\w+) )?(?P<text>\S.*?)\s*;")
_LABEL = re.compile(r"^(\.L_\w+):")
_TARGET = re.compile(r"`\((\.L_\w+)\)")
_REGISTER = re.compile(r"(?<![A-Za-z\d])(U?[RP])(\d+)(\.64)?(?!\w)")
_SILENT = (
    "ST",
    "BAR",
    "BRA",
    "BSSY",
    "BSYNC",
    "EXIT",
    "WARP",
    "MEMBAR",
    "FENCE",
    "NOP",
    "RED",
    "CCTL",
    "DEPBAR",
)
"""Instructions that write no register."""
_WIDE = {"64x16x16": 8, "64x32x16": 16, "64x64x16": 32, "64x128x16": 64}
"""Registers of the sum of a product of a whole group of warps."""


def disassembled(cubin: bytes) -> str:
    """The machine code of a compiled kernel as text, by the disassembler that Triton brings."""
    import triton

    program = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "nvdisasm"
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        done = subprocess.run(
            [str(program), "-c", file.name], capture_output=True, text=True, check=True, timeout=60
        )
    return done.stdout


def read_before_written(text: str) -> dict[str, str]:
    """Of disassembled code, registers that some path reads first: by name, the instruction that reads it.

    A write that depends on a condition counts as a write: what is read behind it has the same condition.

    >>> loop = '''
    ... .L_x_0:
    ...         /*0000*/  R2UR UR4, R7 ;
    ...         /*0010*/  MOV R7, UR6 ;
    ...         /*0020*/  @P0 BRA `(.L_x_0) ;
    ...         /*0030*/  EXIT ;
    ... '''
    >>> read_before_written(loop)["R7"]
    'R2UR UR4, R7'
    """
    code: list[tuple[str | None, str]] = []
    labels: dict[str, int] = {}
    for line in text.splitlines():
        if label := _LABEL.match(line):
            labels[label[1]] = len(code)
        elif found := _INSTRUCTION.match(line):
            code.append((found["when"], found["text"]))
    effects = [_effects(when, text) for when, text in code]
    following = [_following(i, *code[i], labels) for i in range(len(code))]
    live: list[set[str]] = [set() for _ in range(len(code) + 1)]
    changed = True
    while changed:
        changed = False
        for i in reversed(range(len(code))):
            reads, writes = effects[i]
            now = set().union(*(live[j] for j in following[i])) - writes | reads
            changed, live[i] = changed or now != live[i], now
    first = live[0] - {"R1"}  # the stack pointer is given
    return {name: next(t for (_, t), e in zip(code, effects, strict=True) if name in e[0]) for name in first}


def _following(place: int, when: str | None, text: str, labels: dict[str, int]) -> list[int]:
    """Where the code goes on behind an instruction."""
    goes_on = [place + 1] if when or re.search(r"\b!?U?P\d", text) else []
    if text.startswith("EXIT"):
        return goes_on
    if text.startswith("BRA") and (target := _TARGET.search(text)):
        return [labels[target[1]], *goes_on]
    return [place + 1]


def _effects(when: str | None, text: str) -> tuple[set[str], set[str]]:
    """The registers that an instruction reads, and those that it writes."""
    name, _, rest = text.partition(" ")
    operands = [one.strip() for one in re.split(r",(?![^\[]*\])", rest)] if rest else []
    written = 0 if name.startswith(_SILENT) else _written(name, operands)
    writes: set[str] = set()
    for one in operands[:written]:
        if found := _REGISTER.match(one):
            count = 1 if "P" in found[1] else _count(name)
            writes |= _names(found[1], int(found[2]), count)
    reads = set() if when in (None, "PT", "UPT") else {str(when)}
    if name == "PRMT" and operands[0] == operands[-1]:  # of a number of 16 bits, the other half stays
        operands = operands[:-1]
    if name == "LOP3.LUT" and operands[0] == operands[1] and operands[2].startswith("0x"):
        operands = operands[:1]  # a bit of several that are kept in one register
    for place, one in enumerate(operands[written:], written):
        for kind, number, both in _REGISTER.findall(one):
            start, count = _read(name, operands, place, kind, int(number), 2 if both else 1)
            reads |= _names(kind, start, count)
    return reads, writes


def _names(kind: str, first: int, count: int) -> set[str]:
    return {f"{kind}{i}" for i in range(first, first + count)}


def _written(name: str, operands: list[str]) -> int:
    """How many operands are written: predicates in front of a register, or behind it a carry."""
    if not operands:
        return 0
    is_register = [bool(re.fullmatch(r"U?R(\d+|Z)(\.\w+)*", one)) for one in operands]
    is_predicate = [bool(re.fullmatch(r"U?P(\d|T)", one)) for one in operands]
    if is_predicate[0]:
        compares = "SETP" in name or name.startswith(("PLOP3", "UPLOP3"))
        return 2 if len(operands) > 1 and (is_predicate[1] if compares else is_register[1]) else 1
    carries = name.startswith(("IADD3", "UIADD3", "LEA", "ULEA", "IMAD", "UIMAD"))
    return 1 + sum(is_predicate[1:3]) if carries and len(operands) > 1 and is_predicate[1] else 1


def _count(name: str) -> int:
    """Registers that an instruction writes, from the first on."""
    if name.startswith("HGMMA"):
        return _WIDE[name.split(".")[1]]
    if name.startswith("HMMA"):
        return 4 if "F32" in name else 2
    if name.startswith(("LDSM", "STSM")):
        return int(name[-1]) if name[-2:] in (".2", ".4") else 1
    if ".128" in name:
        return 4
    wide = ".64" in name or ".WIDE" in name or (name.startswith("CS2R") and not name.endswith(".32"))
    wide = wide or name.startswith(("DADD", "DMUL", "DFMA", "F2F.F64", "I2F.F64"))
    return 2 if wide and not name.startswith(("SHF", "USHF")) else 1


def _read(name: str, operands: list[str], place: int, kind: str, number: int, count: int) -> tuple[int, int]:
    """The first register of an operand, and how many follow each other."""
    one = operands[place]
    if kind == "UR" and "desc[" in one:
        if "gdesc" not in one:
            return number, 2
        # With one operand in registers, the address of the other one stands in the upper two.
        return (number + 2, 2) if re.match(r"R\d", operands[1]) else (number, 4)
    last = place == len(operands) - 1
    if name.startswith("HGMMA") and kind == "R":
        return number, 4 if place == 1 else _WIDE[name.split(".")[1]]
    if name.startswith("HMMA"):
        return number, {1: 4, 2: 2}.get(place, _count(name))
    if name.startswith("ST") and last and kind == "R":
        return number, _count(name)
    if name.startswith("UIADD3.64") or (".WIDE" in name and last):
        return number, 2
    return number, count
