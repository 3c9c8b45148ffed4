"""The files of the desk, as they are sent to browsers: compressed once, revalidated by their hash.

Vendored modules stay as they were published, so that their recorded hashes hold; the one import between them is
resolved here, since an import map would be an inline script, which the content security policy forbids.
"""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import dataclass
from pathlib import Path

from fastapi import APIRouter
from fastapi import Request as HttpRequest
from starlette.responses import RedirectResponse, Response

from linnaeus.serve.problems import ProblemError

__all__ = ["FILES", "DeskFile", "router"]

FOLDER = Path(__file__).parent
_KINDS = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


@dataclass(frozen=True)
class DeskFile:
    """A file as it is sent."""

    kind: str
    content: bytes
    compressed: bytes
    tag: str


def _read() -> dict[str, DeskFile]:
    files = {}
    for path in sorted(FOLDER.rglob("*")):
        if path.suffix in _KINDS:
            content = path.read_bytes().replace(b'from"preact"', b'from"./preact.mjs"')
            tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
            name = path.relative_to(FOLDER).as_posix()
            files[name] = DeskFile(_KINDS[path.suffix], content, gzip.compress(content, mtime=0), tag)
    return files


FILES = _read()


def router() -> APIRouter:
    """The page at /desk/."""
    pages = APIRouter(include_in_schema=False)

    @pages.get("/desk")
    async def desk() -> Response:
        return RedirectResponse("/desk/")

    @pages.get("/desk/{name:path}")
    async def file(http: HttpRequest, name: str) -> Response:
        found = FILES.get(name or "index.html")
        if found is None:
            raise ProblemError(404, f"There is no file {name!r} in the desk.")
        headers = {"Cache-Control": "no-cache", "ETag": found.tag, "Vary": "Accept-Encoding"}
        if http.headers.get("if-none-match") == found.tag:
            return Response(status_code=304, headers=headers)
        if "gzip" in http.headers.get("accept-encoding", ""):
            return Response(found.compressed, media_type=found.kind, headers={**headers, "Content-Encoding": "gzip"})
        return Response(found.content, media_type=found.kind, headers=headers)

    return pages
