"""Registers that machine code reads before it writes them."""

from __future__ import annotations

import pytest

from ehnn_paper.measure.machine_code import read_before_written

LOOP = """
        /*0000*/                   MOV R2, c[0x0][0x28] ;
        /*0010*/                   {before} ;
.L_x_0:
        /*0020*/                   R2UR UR6, R7 ;
        /*0030*/                   HGMMA.64x32x16.F32 R24, R8, gdesc[UR4].tnspB, RZ, !UPT ;
        /*0040*/                   MOV R7, UR6 ;
        /*0050*/                   IADD3 R2, P0, R2, R24, RZ ;
        /*0060*/               @P0 BRA `(.L_x_0) ;
        /*0070*/                   STG.E.128 desc[UR8][R2.64], R36 ;
        /*0080*/                   EXIT ;
"""


def test_a_register_that_only_the_loop_writes_is_found():
    found = read_before_written(LOOP.format(before="NOP"))
    assert found["R7"] == "R2UR UR6, R7"
    assert {"R8", "R11", "UR7", "UR8", "UR9", "R3"} <= set(found)  # all of an operand, an address and a row
    assert not {"R24", "R36", "R39", "UR4", "UR5", "UR6", "P0", "R2"} & set(found)
    assert "R7" not in read_before_written(LOOP.format(before="MOV R7, RZ"))


@pytest.mark.parametrize(
    ("text", "reads"),
    [
        ("LDS.128 R4, [R9+UR4]", {"R9", "UR4"}),
        ("STSM.16.M88.4 [R9], R4", {"R9", "R4", "R5", "R6", "R7"}),
        ("HMMA.16816.F32 R4, R8, R12, RZ", {"R8", "R9", "R10", "R11", "R12", "R13"}),
        ("SHFL.BFLY PT, R4, R8, 0x2, 0x1f", {"R8"}),
        ("LOP3.LUT P0, RZ, R4, 0x3, RZ, 0xc0, !PT", {"R4"}),
        ("IADD3.X R4, R5, R6, RZ, P0, !PT", {"R5", "R6", "P0"}),
        ("PRMT R4, R5, 0x7632, R4", {"R5"}),  # half of a register is written
        ("UIADD3.64 UR4, UR8, 0x2, URZ", {"UR8", "UR9"}),
    ],
)
def test_one_instruction_reads(text, reads):
    assert set(read_before_written(f"        /*0000*/  {text} ;")) == reads
