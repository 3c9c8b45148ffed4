"""Suggestions of a linnaeus model in Label Studio, by its protocol for machine learning backends.

    python examples/label_studio/backend.py MODEL --port 9090

Then add http://localhost:9090 as a model in the settings of a project whose labelling configuration has a Taxonomy or
a Choices tag and a Text tag. `/setup` reads that configuration, `/predict` answers tasks with the best label set, its
paths from the top of the taxonomy and a score between 0 and 1. Nothing but linnaeus and the standard library is needed.
"""

from __future__ import annotations

import argparse
import json
import xml.etree.ElementTree as ET
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

import linnaeus

MOST_BYTES = 16_000_000


class Backend:
    """What Label Studio asks: which tags there are, and predictions for tasks."""

    def __init__(self, folder: str, version: str | None = None) -> None:
        self.model = linnaeus.load(folder)
        self.version = version or f"linnaeus-{self.model.taxonomy_.fingerprint[:8]}"
        self.tag = {"from_name": "taxonomy", "to_name": "text", "type": "taxonomy", "field": "text"}

    def setup(self, request: dict[str, Any]) -> dict[str, Any]:
        """Learn the names of the tags from the labelling configuration of the project."""
        schema = request.get("schema")
        if schema:
            self.tag = self.tags(schema)
        return {"model_version": self.version}

    def tags(self, schema: str) -> dict[str, str]:
        """The first Taxonomy or Choices tag, and the Text tag that it labels."""
        if "<!" in schema:
            raise ValueError("The labelling configuration contains a declaration; expected plain tags.")
        root = ET.fromstring(schema)
        texts = {tag.get("name"): tag for tag in root.iter("Text")}
        for kind in ("Taxonomy", "Choices"):
            for tag in root.iter(kind):
                to = tag.get("toName")
                if to in texts:
                    field = (texts[to].get("value") or "$text").lstrip("$")
                    return {"from_name": tag.get("name") or "", "to_name": to, "type": kind.lower(), "field": field}
        raise ValueError("The labelling configuration has no Taxonomy or Choices tag for a Text tag.")

    def predict(self, request: dict[str, Any]) -> dict[str, Any]:
        """One prediction for each task, in the order of the tasks."""
        if request.get("label_config"):
            self.tag = self.tags(request["label_config"])
        tasks = request.get("tasks") or []
        texts = [str(task.get("data", {}).get(self.tag["field"], "")) for task in tasks]
        if not texts:
            return {"results": [], "model_version": self.version}
        tax = self.model.taxonomy_
        answers = tax.labels(self.model.answers(texts, closed=False))
        best = self.model.top(texts, k=1)[1][:, 0]
        certainty = 1 / (1 + np.exp(-np.clip(best, -30, 30)))  # orders tasks; not calibrated
        return {
            "results": [self.result(*row) for row in zip(answers, certainty, strict=True)],
            "model_version": self.version,
        }

    def result(self, labels: list[str], score: float) -> dict[str, Any]:
        tax, tag = self.model.taxonomy_, self.tag
        if tag["type"] == "taxonomy":
            paths = [[tax.display(int(v)) for v in tax.path(label) if v != tax.root] for label in labels]
            value: dict[str, Any] = {"taxonomy": paths}
        else:
            value = {"choices": [tax.display(label) for label in labels]}
        entry = {"from_name": tag["from_name"], "to_name": tag["to_name"], "type": tag["type"], "value": value}
        return {"result": [entry] if labels else [], "score": float(score), "model_version": self.version}


def handler(backend: Backend) -> type[BaseHTTPRequestHandler]:
    """Addresses of the protocol: GET /health, POST /setup, /predict, /webhook."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            known = self.path in ("/", "/health")
            self.reply(
                200 if known else 404, {"status": "UP", "model_class": "linnaeus"} if known else {"error": "unknown"}
            )

        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            if length > MOST_BYTES:
                self.reply(413, {"error": f"more than {MOST_BYTES:,} bytes"})
                return
            calls = {"/setup": backend.setup, "/predict": backend.predict, "/webhook": lambda request: {"status": "ok"}}
            if self.path not in calls:
                self.reply(404, {"error": "unknown"})
                return
            try:
                self.reply(200, calls[self.path](json.loads(self.rfile.read(length) or b"{}")))
            except (ValueError, ET.ParseError, linnaeus.errors.LinnaeusError) as error:
                self.reply(400, {"error": str(error)})

        def reply(self, code: int, content: dict[str, Any]) -> None:
            body = json.dumps(content).encode("utf-8")
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            pass

    return Handler


def serve(folder: str, host: str = "127.0.0.1", port: int = 9090) -> ThreadingHTTPServer:
    """A server for a model folder; port 0 takes a free one."""
    return ThreadingHTTPServer((host, port), handler(Backend(folder)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Suggestions of a linnaeus model in Label Studio.")
    parser.add_argument("model", help="model folder")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=9090)
    given = parser.parse_args()
    with serve(given.model, given.host, given.port) as server:
        print(f"Label Studio backend on http://{given.host}:{server.server_port}")
        server.serve_forever()
