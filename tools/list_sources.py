"""Print the package files that are installed as they are, relative to src/ (read by meson.build)."""

from pathlib import Path

root = Path(__file__).resolve().parent.parent / "src"
for path in sorted(
    [
        path
        for kind in ("*.py", "py.typed", "*.css", "*.js", "*.mjs", "*.html", "*.svg", "*.LICENSE.txt")
        for path in root.rglob(kind)
    ]
):
    print(path.relative_to(root).as_posix())
