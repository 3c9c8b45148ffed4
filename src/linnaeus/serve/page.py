"""The page at /docs: all addresses with parameters and bodies, from the OpenAPI document, without scripts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape
from typing import Any

__all__ = ["STYLE", "page"]

STYLE = """body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
h1, h2 { line-height: 1.2 } code, pre { font: 14px/1.5 ui-monospace, monospace }
details { border: 1px solid #ccc; border-radius: 4px; margin: .5rem 0; padding: .4rem .8rem }
summary { cursor: pointer } summary b { display: inline-block; min-width: 4rem }
table { border-collapse: collapse; margin: .5rem 0 }
td { text-align: left; vertical-align: top; padding: .2rem .8rem .2rem 0 }
pre { background: #f4f4f4; padding: .6rem; overflow: auto }
"""


def page(document: Mapping[str, Any]) -> str:
    """The OpenAPI document as HTML."""
    schemas: Mapping[str, Any] = document.get("components", {}).get("schemas", {})
    groups: dict[str, list[str]] = {}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            tag = (operation.get("tags") or ["service"])[0]
            groups.setdefault(tag, []).append(_operation(path, method, operation, schemas))
    sections = "".join(f"<h2>{escape(tag)}</h2>{''.join(found)}" for tag, found in groups.items())
    described = "".join(
        f'<details id="{escape(name)}"><summary>{escape(name)}</summary><p>{escape(schema.get("description", ""))}</p>'
        f"{_properties(schema)}</details>"
        for name, schema in schemas.items()
    )
    info = document["info"]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f"<title>{escape(info['title'])}</title>"
        '<meta name="viewport" content="width=device-width"><link rel="stylesheet" href="/docs/style.css"></head><body>'
        f"<h1>{escape(info['title'])} {escape(info['version'])}</h1><p>{escape(info.get('description', ''))}</p>"
        '<p>For programs: <a href="/openapi.json">/openapi.json</a></p>'
        f"{sections}<h2>Bodies</h2>{described}</body></html>"
    )


def _operation(path: str, method: str, operation: Mapping[str, Any], schemas: Mapping[str, Any]) -> str:
    summary, _, more = str(operation.get("description") or operation.get("summary", "")).partition("\n")
    rows = "".join(
        f"<tr><td><code>{escape(p['name'])}</code></td><td>{escape(p['in'])}</td>"
        f"<td>{escape(_kind(p.get('schema', {})))}</td><td>{escape(p.get('description', ''))}</td></tr>"
        for p in operation.get("parameters", ())
    )
    parameters = f"<table>{rows}</table>" if rows else ""
    bodies = operation.get("requestBody", {}).get("content", {})
    shown = []
    for media, body in bodies.items():
        schema = body.get("schema", {})
        name = str(schema.get("$ref", "")).rpartition("/")[2]
        properties = _properties(schemas.get(name, schema))
        example = f"<pre>{escape(body['example'])}</pre>" if "example" in body else ""
        shown.append(f"<p>Body: <code>{escape(media)}</code> {escape(name)}</p>{properties}{example}")
    return (
        f"<details><summary><b>{escape(method.upper())}</b> <code>{escape(path)}</code> {escape(summary)}</summary>"
        f"<p>{escape(more.strip())}</p>{parameters}{''.join(shown)}</details>"
    )


def _properties(schema: Mapping[str, Any]) -> str:
    required = schema.get("required", ())
    rows = "".join(
        f"<tr><td><code>{escape(name)}</code>{' *' if name in required else ''}</td><td>{escape(_kind(value))}</td>"
        f"<td>{escape(value.get('description', ''))}</td></tr>"
        for name, value in schema.get("properties", {}).items()
    )
    return f"<table>{rows}</table>" if rows else ""


def _kind(schema: Mapping[str, Any]) -> str:
    """A schema in a few words."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "anyOf" in schema:
        return " or ".join(_kind(one) for one in schema["anyOf"] if one.get("type") != "null")
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    if "enum" in schema:
        return " or ".join(map(str, schema["enum"]))
    default = f", default {json.dumps(schema['default'])}" if schema.get("default") is not None else ""
    return f"{schema.get('type', 'value')}{default}"
