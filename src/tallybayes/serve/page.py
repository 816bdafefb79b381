"""What a browser is shown at `/`."""

from __future__ import annotations

from html import escape

from tallybayes.serve.live import Known

MOST = 50  # names that are listed
STYLE = "body{font:16px/1.5 system-ui,sans-serif;max-width:45em;margin:2em auto;padding:0 1em;color-scheme:light dark}"


def landing(known: Known) -> str:
    """A page without a script: what is served, and where its document is."""
    names = known.columns.names
    columns = ", ".join(escape(name) for name in names[:50]) + (
        f" and {len(names) - 50} more" if len(names) > 50 else ""
    )
    classes = ", ".join(escape(name) for name in list(known.by_text)[:MOST])
    name = escape(type(known.model).__name__)
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{name}, served</title><style>{STYLE}</style>'
        f"<h1>{name}</h1><p>Classes: {classes}</p><p>Columns: {columns}</p>"
        '<p>What can be asked, and how: <a href="openapi.json">openapi.json</a>. What the model is: '
        '<a href="model">model</a>. How the service does: <a href="metrics">metrics</a>.</p></html>'
    )
