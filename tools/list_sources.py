"""Print the package files that are installed as they are, relative to src/ (read by meson.build)."""

from pathlib import Path

root = Path(__file__).resolve().parent.parent / "src"
for path in sorted([*root.rglob("*.py"), *root.rglob("py.typed")]):
    print(path.relative_to(root).as_posix())
