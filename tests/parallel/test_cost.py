"""The formula for the time of a step."""

from __future__ import annotations

import torch

from ehnn.parallel import Machine, Ranks, step_seconds
from ehnn.parallel.plan import Plan

MACHINE = Machine(0.01, 1e-8, 2e-8, 1e-10, 2e-10, 1e-9, byte=1e-9, call=1e-4)


def test_work_is_shared_and_the_exchange_follows_the_ghosts() -> None:
    size = (10**6, 2 * 10**6, 10**7)
    one, two, four = (step_seconds(*size, 10**5, ranks, 32, MACHINE) for ranks in (1, 2, 4))
    assert one.exchange == 0
    assert abs((one.own - 0.01) - 2 * (two.own - 0.01)) < 1e-9
    assert two.exchange > four.exchange
    more = step_seconds(*size, 2 * 10**5, 2, 32, MACHINE)
    assert abs((more.exchange - two.exchange) - 4 * 10**5 / 2 * 32 * 4 * 1e-9) < 1e-12
    half = step_seconds(*size, 10**5, 2, 32, MACHINE, itemsize=2)
    assert half.own == two.own
    assert half.exchange < two.exchange
    assert two.total == two.own + two.exchange


def test_rows_are_made_in_two_parts_only_if_many_travel() -> None:
    none = torch.zeros(0, dtype=torch.int64)
    for sent, ahead in ((1, 0), (100, 900)):
        plan = Plan(Ranks(), 1000, torch.arange(1000 - sent, 1000), (0,), (0,), none, none)
        assert (plan.alone, plan.ahead) == (1000 - sent, ahead)
