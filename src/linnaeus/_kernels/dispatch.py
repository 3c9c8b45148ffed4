"""Kernels that exist for several instruction sets: take the best that this machine can run."""

from __future__ import annotations

import importlib
import importlib.util
import os
from functools import cache
from types import ModuleType

__all__ = ["best", "levels"]

_PACKAGE = __name__.rsplit(".", 1)[0]

# What the levels of x86-64 ask for, beyond what every such machine has.
_NEEDS = {
    "_v4": {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd", "avx2", "fma"},
    "_v3": {"avx2", "fma", "bmi2", "f16c"},
}


@cache
def best(name: str) -> ModuleType:
    """The kernel module ``name`` compiled for the highest level that this machine has.

    ``LINNAEUS_SIMD=v3`` (or ``baseline``) asks for a lower one, for comparisons.
    """
    wanted = os.environ.get("LINNAEUS_SIMD", "v4")
    if wanted not in ("v4", "v3", "baseline"):
        raise ValueError(f"LINNAEUS_SIMD={wanted}; expected v4, v3 or baseline.")
    for suffix in levels():
        if wanted != "baseline" and suffix[1:] <= wanted and importlib.util.find_spec(f"{_PACKAGE}.{name}{suffix}"):
            return importlib.import_module(f"{_PACKAGE}.{name}{suffix}")
    return importlib.import_module(f"{_PACKAGE}.{name}")


def levels() -> list[str]:
    """Suffixes of the kernels that were compiled and that this machine can run beside the baseline, best first."""
    return [
        suffix
        for suffix, needed in _NEEDS.items()
        if needed <= _cpu_flags() and importlib.util.find_spec(f"{_PACKAGE}.dual_cd{suffix}")
    ]


@cache
def _cpu_flags() -> frozenset[str]:
    """Instruction sets of this machine, in the kernel's lower-case names."""
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="ignore") as file:
            line = next((line for line in file if line.startswith("flags")), "")
        return frozenset(line.partition(":")[2].split())
    except OSError:  # not Linux: NumPy has asked the machine already
        from numpy._core._multiarray_umath import __cpu_features__ as features

        return frozenset(name.lower().replace("fma3", "fma") for name, there in features.items() if there)
