"""Kernels that exist for several instruction sets: take the best that this machine can run."""

from __future__ import annotations

import importlib
import importlib.util
import os
from functools import cache
from types import ModuleType

__all__ = ["best"]

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
    package = __name__.rsplit(".", 1)[0]
    wanted = os.environ.get("LINNAEUS_SIMD", "v4")
    flags = _cpu_flags()
    for suffix, needed in _NEEDS.items():
        module = f"{package}.{name}{suffix}"
        if suffix[1:] <= wanted and wanted != "baseline" and needed <= flags and importlib.util.find_spec(module):
            return importlib.import_module(module)
    return importlib.import_module(f"{package}.{name}")


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
