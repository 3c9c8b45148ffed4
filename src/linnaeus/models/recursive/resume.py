"""The state of a joint training in a checkpoint: what is needed to continue, to the same model bit for bit.

Leaves keep their dual variables and candidates, inner vertices their weights. Regular checkpoints are written right
after the weights of the leaves have been recomputed from the dual variables, so that these need not be stored. Where a
time limit stops the fit between two such moments, the weights of the leaves are stored, too, and, where Newton's
method was interrupted, its variables.
"""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import Any

import numpy as np

from linnaeus.models.checkpoint import Checkpoint
from linnaeus.models.recursive.solver import JointSolver, JointState

__all__ = ["JointCheckpoint"]

_SHARE = 10  # at most one part in so many of the time goes into writing


class JointCheckpoint:
    """Writes a solver's state into ``checkpoint`` (None: nowhere), and takes it up again."""

    def __init__(self, checkpoint: Checkpoint | None) -> None:
        self.checkpoint = checkpoint
        self._last, self._took = time.monotonic(), 0.0

    def take_up(self, solver: JointSolver, blocks: list[Any]) -> bool:
        """Bring the solver to where the last run stood; False where there was none."""
        store = self.checkpoint
        if store is None or "joint" not in store.state:
            return False
        solver.state = JointState(**store.state["joint"])
        solver.blocks = [solver.leaves.resume(block, store.get(_key(block))) for block in blocks]
        inner = store.get("inner")
        solver.inner.M[:], solver.inner.solved[:] = inner["M"], inner["solved"]
        if "newton" in store:
            solver.newton_pulls = np.array(store.get("newton")["pulls"])
        return True

    def save_if_due(self, solver: JointSolver) -> None:
        if self.checkpoint is None:
            return
        if time.monotonic() - self._last >= max(self.checkpoint.every, _SHARE * self._took):
            self.save(solver)

    def save(self, solver: JointSolver, *, finished: bool = False, weights: bool = False) -> None:
        """Write the state; ``weights`` of the leaves, too, where they are not what the dual variables give."""
        store, start = self.checkpoint, time.monotonic()
        if store is None:
            return
        for block in solver.blocks:
            store.put(_key(block), block.arrays() | ({"U": block.U} if weights else {}))
        store.put("inner", {"M": solver.inner.M, "solved": solver.inner.solved})
        store.discard("newton")
        if solver.newton_pulls is not None:
            store.put("newton", {"pulls": solver.newton_pulls})
        store.state["joint"] = asdict(solver.state)
        store.finish() if finished else store.commit()
        self._last, self._took = time.monotonic(), time.monotonic() - start


def _key(block: Any) -> str:
    return f"leaves {block.number}"
