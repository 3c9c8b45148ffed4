"""Published variants for comparison, imported only if a parameter asks for one; see docs/published-variants.md."""
