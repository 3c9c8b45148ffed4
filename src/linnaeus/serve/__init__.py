"""The service: models of folders behind a REST interface, see `docs/serve.md`. Needs the extra ``serve``."""
