"""Everything of a release but the upload.

1. Two sdists of the same commit are equal byte by byte.
2. A wheel is built from the sdist; it has no debug information and is below the limit. On Linux, auditwheel names the
   systems that it runs on (manylinux).
3. Both are installed into empty environments, the wheel on a PATH without a compiler, and the smoke test runs. How long
   it takes from nothing to the first line of the demo is printed.
4. A bill of materials of the installed environment is written, and metadata are checked.

``python tools/release_check.py --output dist`` needs the dependency group ``release``.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MOST_BYTES = 15_000_000


def run(*command: str | Path, **options: object) -> None:
    print("$", *command, flush=True)
    subprocess.run([str(part) for part in command], check=True, **options)  # type: ignore[call-overload]


def build_sdist(folder: Path) -> Path:
    stamp = subprocess.run(
        ["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True
    ).stdout.strip()
    environment = {**os.environ, "SOURCE_DATE_EPOCH": stamp or "0"}
    run(sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", folder, ROOT, env=environment)
    return next(folder.glob("*.tar.gz"))


def build_wheel(sdist: Path, folder: Path) -> Path:
    strip = "-Csetup-args=-Dstrip=true"
    install = "-Cinstall-args=--strip"
    run(sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", strip, install, "-w", folder, sdist)
    wheel = next(folder.glob("*.whl"))
    if sys.platform == "linux":
        repaired = folder / "repaired"
        with_tools = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
        run(sys.executable, "-m", "auditwheel", "repair", "-w", repaired, wheel, env=with_tools)
        wheel = next(repaired.glob("*.whl"))
    check_wheel(wheel)
    return wheel


def check_wheel(wheel: Path) -> None:
    """Raise an error if a wheel is too large, or one of its libraries has debug information."""
    size = wheel.stat().st_size
    if size >= MOST_BYTES:
        raise SystemExit(f"{wheel.name} has {size:,} bytes, expected less than {MOST_BYTES:,}.")
    with zipfile.ZipFile(wheel) as archive:
        libraries = [name for name in archive.namelist() if name.endswith((".so", ".pyd", ".dylib"))]
        unstripped = [name for name in libraries if b".debug_info" in archive.read(name)]
    if not libraries or unstripped:
        raise SystemExit(f"{wheel.name} has {len(libraries)} libraries, {len(unstripped)} with debug information.")
    print(f"{wheel.name}: {size / 1e6:.1f} MB, {len(libraries)} libraries without debug information")


def time_demo(python: Path, environment: dict[str, str]) -> float:
    """Run the demo in its own folder; seconds until its first line."""
    start, first = time.perf_counter(), 0.0
    command = [str(python), "-u", "-m", "linnaeus", "demo"]
    demo = subprocess.Popen(command, cwd=python.parent.parent, env=environment, stdout=subprocess.PIPE, text=True)
    assert demo.stdout is not None
    for line in demo.stdout:
        first = first or time.perf_counter() - start
        print(line, end="")
    if demo.wait() != 0:
        raise SystemExit("The demo failed.")
    return first


def processor_seconds() -> float:
    """Processor time of all processes that were started here and have ended; a busy machine does not change it."""
    spent = os.times()
    return spent.children_user + spent.children_system


def check_install(package: Path, *, compiler: bool) -> Path:
    """Install into an empty environment, run demo and smoke test; the environment's interpreter is returned."""
    start, spent = time.perf_counter(), [processor_seconds()]
    folder = Path(tempfile.mkdtemp(prefix="linnaeus-release-"))
    run(sys.executable, "-m", "venv", folder)
    spent.append(processor_seconds())
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    environment = dict(os.environ) if compiler else {"PATH": str(python.parent), "HOME": str(folder)}
    run(python, "-m", "pip", "install", "-q", package, env=environment)
    installed = time.perf_counter() - start
    spent.append(processor_seconds())
    first = time_demo(python, environment)
    spent.append(processor_seconds())
    made, unpacked, shown = (after - before for before, after in pairwise(spent))
    print(f"{package.name}: installed in {installed:.0f} s, first line of the demo {first:.0f} s later")
    print(f"processor seconds: environment {made:.1f}, installation {unpacked:.1f}, the whole demo {shown:.1f}")
    run(python, ROOT / "tools" / "smoke.py", env=environment, cwd=folder)
    print(f"{package.name}: installed and tested in {time.perf_counter() - start:.0f} s")
    return python


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=ROOT / "dist")
    parser.add_argument("--skip-sdist-install", action="store_true", help="do not compile a second time")
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        sdist, again = build_sdist(Path(first)), build_sdist(Path(second))
        if digest(sdist) != digest(again):
            raise SystemExit("Two sdists of one commit differ.")
        print(f"{sdist.name}: {digest(sdist)}, the same twice")
        wheel = build_wheel(sdist, Path(first))
        kept = [Path(shutil.copy(file, given.output)) for file in (sdist, wheel)]
    run(sys.executable, "-m", "twine", "check", "--strict", *kept)
    python = check_install(kept[1], compiler=False)
    if not given.skip_sdist_install:
        check_install(kept[0], compiler=True)
    run(sys.executable, "-m", "cyclonedx_py", "environment", python, "--output-file", given.output / "sbom.json")
    print("ready:", ", ".join(file.name for file in sorted(given.output.iterdir())))


if __name__ == "__main__":
    main()
