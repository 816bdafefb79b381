"""The lists as text; docs/growth.md with its tables and pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from .findings import Finding, Row, findings
from .orders import ORDERS, Orders
from .pictures import AXES, draw
from .reasons import REASONS

TITLES = {
    "order": "Growth worse than its documented order",
    "kind": "A kind of input that costs more than 5 times its plain neighbour",
    "peer": "A peer is faster",
}
SHORT = {
    "order": "grows faster than documented",
    "kind": "more than 5 times the plain input",
    "peer": "a peer is faster",
}
BEGIN, END = "<!-- {}: written by python -m bench.growth --docs -->", "<!-- end of {} -->"


def lists(head: Mapping[str, object], rows: Sequence[Row]) -> str:
    """What is to be mended, and what has a reason."""
    found = findings(rows)
    busy = "" if quiet(head) else ", on a BUSY machine"
    lines = [f"{len(rows)} points; processor time of one thread{busy}."]
    lines += [
        f"FAILED {row['model']} {row['side']} {row['axis']} {row['value']}: {row['failed']}"
        for row in rows
        if "failed" in row
    ]
    for name, title in TITLES.items():
        open_ = [f for f in found if f.list_ == name and f.reason is None]
        reasoned = [f for f in found if f.list_ == name and f.reason is not None]
        lines += ["", f"{title}: {len(open_)} ({len(reasoned)} more have a reason)"]
        lines += [f"  {_line(f)}" for f in open_]
        lines += [f"  (reason) {_line(f)}" for f in reasoned]
    return "\n".join(lines)


def quiet(head: Mapping[str, object]) -> bool:
    noise = head.get("noise")
    return isinstance(noise, Mapping) and bool(noise["quiet"])


def _line(f: Finding) -> str:
    return f"{f.model} {f.op}, {f.axis}: {f.text}"


def orders_table() -> str:
    """The documented orders as Markdown; estimators of the same orders share a row."""
    lines = ["| estimators | fit | memory of fit | predict | memory of predict | why |", "|---|---|---|---|---|---|"]
    shared: dict[Orders, list[str]] = {}
    for name, orders in ORDERS.items():
        shared.setdefault(orders, []).append(f"`{name}`")
    lines += [
        f"| {', '.join(names)} | {o.fit} | {o.fit_memory} | {o.predict} | {o.predict_memory} | {o.why} |"
        for o, names in shared.items()
    ]
    return "\n".join(lines)


def reasons_table() -> str:
    """The accepted findings as Markdown, one row for each list and reason."""
    lines = ["| finding | where | reason |", "|---|---|---|"]
    shared: dict[tuple[str, str], list[str]] = {}
    for r in REASONS:
        where = " ".join(part for part in (r.model and f"`{r.model}`", r.op, f"by {r.axis}" if r.axis else "") if part)
        shared.setdefault((r.list_, r.why), []).append(where or "any")
    lines += [f"| {SHORT[list_]} | {', '.join(where)} | {why} |" for (list_, why), where in shared.items()]
    return "\n".join(lines)


def measured_text(head: Mapping[str, object], rows: Sequence[Row]) -> str:
    """What was measured, and on what machine; the pictures."""
    facts = head.get("machine")
    cpu = f"{facts['cpu']}, {facts['instruction set']}" if isinstance(facts, Mapping) else "an unknown machine"
    busy = "quiet" if quiet(head) else "busy with other work, so times are CPU times, accurate to about 40 %"
    version = f"Version {facts['tallybayes']}, {str(facts['time'])[:10]}: " if isinstance(facts, Mapping) else ""
    lines = [f"{version}{len(rows)} points on {cpu}; the machine was {busy}.", ""]
    lines += [f"![Cost by {said}](images/growth/{axis}.png)\n" for axis, said in AXES.items()]
    return "\n".join(lines).rstrip()


def put(text: str, name: str, made: str) -> str:
    """The page with one of its written parts replaced."""
    begin, end = BEGIN.format(name), END.format(name)
    before, found, rest = text.partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise ValueError(f"the page has no part {name!r}: {begin} … {end}")
    return f"{before}{begin}\n\n{made}\n\n{end}{after}"


def docs(head: Mapping[str, object], rows: Sequence[Row], folder: Path) -> None:
    """docs/growth.md: its written parts anew, and the pictures."""
    page = folder / "growth.md"
    text = put(page.read_text(), "orders", orders_table())
    text = put(text, "reasons", reasons_table())
    text = put(text, "measured", measured_text(head, rows))
    draw(rows, folder / "images" / "growth")
    page.write_text(text)
