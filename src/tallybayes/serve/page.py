"""What a browser is shown at `/`: the what-if page of the live model, which asks for the model as it is now."""

from __future__ import annotations

from collections.abc import Callable

from tallybayes.model.predictor import Predictor
from tallybayes.serve.live import Known, Live
from tallybayes.serve.wire import Answer, Request

HTML = b"text/html; charset=utf-8"
DESCRIPTION = "/description"  # where the page asks for the model
# The page itself says what may run in it; that nobody may frame it can only be said here.
HEADERS = (
    (b"content-security-policy", b"frame-ancestors 'none'"),
    (b"referrer-policy", b"no-referrer"),
)


class Pages:
    """The page and the description that its script reads, each made once for a model as it is."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._page, self._described = _Kept(_page), _Kept(_description)

    def page(self, _: Request) -> Answer:
        """Give the what-if page; of a model without a form for a page, what it learned.

        Parameters
        ----------
        _ : Request
            It says nothing more.

        Returns
        -------
        Answer
            What goes back.
        """
        return Answer(self._page.of(self._live.known), HTML, headers=HEADERS)

    def description(self, _: Request) -> Answer:
        """Give the model as `to_json` writes it.

        Parameters
        ----------
        _ : Request
            It says nothing more.

        Returns
        -------
        Answer
            What goes back.
        """
        return Answer(self._described.of(self._live.known))


class _Kept:
    """What was made last, until the model has learned something."""

    def __init__(self, make: Callable[[Known, Predictor], bytes]) -> None:
        self._make = make
        self._last: tuple[Predictor | None, bytes] = (None, b"")

    def of(self, known: Known) -> bytes:
        predictor = known.model.predictor_
        before, made = self._last
        if before is not predictor:
            made = self._make(known, predictor)
            self._last = (predictor, made)
        return made


def _page(known: Known, predictor: Predictor) -> bytes:
    from tallybayes.reports import page

    title = predictor.options.who + (f": {known.target}" if known.target else "")
    return page(predictor, title=title, refresh=DESCRIPTION[1:]).encode()


def _description(_: Known, predictor: Predictor) -> bytes:
    from tallybayes.export import to_json

    return to_json(predictor).encode()
