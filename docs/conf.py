"""The site: `make docs` builds it from these pages, the docstrings and the command line, without a network."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(HERE))

import reference  # noqa: E402

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
REPOSITORY = PROJECT["urls"]["Repository"]

project = "linnaeus"
author = "The linnaeus developers"
copyright = f"2026, {author}"
release = version = PROJECT["version"]

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.intersphinx",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["gallery/*", "_build"]
nitpicky = False
suppress_warnings = ["config.cache", "toc.empty_glob"]
templates_path: list[str] = []

# Pages are Markdown that a code host shows as well: links lead to files, headings have the anchors of GitHub.
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 4

autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_mock_imports = ["triton"]
numpydoc_show_class_members = False
numpydoc_xref_param_type = True
numpydoc_xref_ignore = {
    "of",
    "shape",
    "or",
    "optional",
    "default",
    "matrix",
    "array-like",
    "path",
    "file",
    "sequence",
    "labels",
    "and",
    "options",
    "as",
    "for",
}
numpydoc_xref_aliases = reference.ALIASES

# Names of other packages are resolved from small inventories that are written here, so that nothing is downloaded.
intersphinx_mapping = reference.write_inventories(HERE / "_build" / "inventories")
intersphinx_timeout = 1

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "reference/gallery",
    "filename_pattern": r"plot_",
    "ignore_pattern": r"corpus\.py",
    "within_subsection_order": "FileNameSortKey",
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "download_all_examples": False,
    "min_reported_time": 10,
    "write_computation_times": False,
    "reference_url": {"linnaeus": None},
}

html_theme = "pydata_sphinx_theme"
html_title = "linnaeus"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "linnaeus"},
    "navbar_align": "left",
    "navbar_persistent": ["search-button"],
    "header_links_before_dropdown": 8,
    "show_toc_level": 2,
    "show_prev_next": True,
    "footer_start": ["copyright"],
    "footer_end": [],
    "icon_links": [{"name": "Source code", "url": REPOSITORY, "icon": "fa-brands fa-github"}],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
# Pages that are sections of their own have no section to navigate; the API reference has a table
# instead of a list of all pages.
html_sidebars = {
    page: []
    for page in (
        "index",
        "concepts",
        "which-model",
        "glossary",
        "cite",
        "reference/changelog",
        "reference/commands",
        "reference/api/*",
    )
}

_LINK = re.compile(r"\]\(([^)\s#:]+)(#[^)\s]*)?\)")


def _lead_somewhere(app: object, docname: str, source: list[str]) -> None:
    """Let links to folders lead to their page, and links to pages outside this folder to the repository."""
    page = HERE / f"{docname}.md"
    if not page.exists() or docname.startswith("reference/"):
        return

    def replaced(found: re.Match[str]) -> str:
        target, anchor = found[1], found[2] or ""
        path = (page.parent / target).resolve()
        if path.is_relative_to(HERE):
            return f"]({target.rstrip('/')}/index.md{anchor})" if (path / "index.md").exists() else found[0]
        if path == ROOT / "CHANGELOG.md":
            return "](/reference/changelog.md)"
        if path.is_dir() or path.suffix in (".md", ".py", ".toml", ".cff", ".sh", ""):
            return f"]({REPOSITORY}/blob/main/{path.relative_to(ROOT).as_posix()}{anchor})"
        return found[0]  # data of examples: a download

    source[0] = _LINK.sub(replaced, source[0])


def setup(app) -> None:
    reference.write(HERE / "reference")
    app.connect("source-read", _lead_somewhere)
    app.connect("autodoc-process-docstring", reference.plain_docstring, priority=400)
