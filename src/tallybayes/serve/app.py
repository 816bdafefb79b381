"""The ASGI application: Starlette's routes, and before them who may ask and what is counted."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from time import perf_counter

from prometheus_client import CONTENT_TYPE_LATEST
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tallybayes.errors import TallybayesError
from tallybayes.serve.http_errors import TYPE, HttpError, problem_of
from tallybayes.serve.learner import Learner
from tallybayes.serve.learning_routes import LearningRoutes
from tallybayes.serve.ledger import Ledger
from tallybayes.serve.live import Live
from tallybayes.serve.metrics import Metrics
from tallybayes.serve.openapi import document
from tallybayes.serve.page import Page
from tallybayes.serve.prediction_routes import PredictionRoutes
from tallybayes.serve.responses import ROWS, Status, answer, encode
from tallybayes.serve.service_settings import Settings
from tallybayes.serve.tokens import Tokens, read_tokens

log = logging.getLogger("tallybayes.serve")
POLL_SECONDS = 1.0  # seconds between two looks at the model file
LEARNING = ("/learn", "/forget", "/examples")
SCOPES = {"/healthz": None, "/readyz": None, **dict.fromkeys(LEARNING, "learn")}  # of the token; else 'read'
ONCE = (b"host", b"origin", b"sec-fetch-site", b"authorization", b"content-type")  # headers that are there once
ALWAYS = [(b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store")]


class Service:
    """What the routes share: the model, the learner, the counters."""

    def __init__(self, settings: Settings) -> None:
        self.settings, self.live, self.tokens = settings, Live(settings.path), read_tokens(settings.token_file)
        self.hosts = _hosts(settings, self.tokens)
        self.ready = self.failed = False
        self.predicting = PredictionRoutes(self.live, settings)
        page = Page(self.live)
        routes = [
            Route("/predict", self.predicting.predict, methods=["POST"]),
            Route("/explain", self.predicting.explain, methods=["POST"]),
            Route("/decide", self.predicting.decide, methods=["POST"]),
            Route("/model", self.predicting.model),
            Route("/", page.html),
            Route("/page.js", page.script),
            Route("/page.css", page.style),
            Route("/controls", page.controls),
            Route("/description", page.description),
            Route("/openapi.json", self._openapi),
            Route("/metrics", self._metrics),
            Route("/healthz", self._health),
            Route("/readyz", self._ready),
        ]
        self.metrics = Metrics([*(route.path for route in routes), *(LEARNING if settings.learn else ())])
        self.learner: Learner | None = None
        if settings.learn:
            self.learner = Learner(
                Ledger(self.live, self.metrics.event, settings.store, settings.sign), settings.snapshot_every
            )
            learning = LearningRoutes(self.learner, settings, self.metrics)
            routes += [
                Route("/learn", learning.learn, methods=["POST"]),
                Route("/forget", learning.forget, methods=["POST"]),
                Route("/examples", learning.examples),
            ]
        self.app = Starlette(
            routes=routes,
            middleware=[Middleware(Guard, service=self)],
            exception_handlers={HTTPException: _no_route},
            lifespan=self.lifespan,
        )
        self.app.router.redirect_slashes = False
        self.app.state.service = self

    @asynccontextmanager
    async def lifespan(self, _: Starlette) -> AsyncIterator[None]:
        """Follow the model file, or learn; from start to stop."""
        following = None
        if self.learner is None:
            following = asyncio.create_task(self._follow())
        else:
            self.learner.start()
        self.ready = True
        try:
            yield
        finally:
            self.ready = False
            if following is not None:
                following.cancel()
                with suppress(asyncio.CancelledError):
                    await following
            self.predicting.pool.shutdown()
            if self.learner is not None:
                try:
                    await self.learner.stop()
                except Exception as e:
                    self.failed = True
                    log.error("the model could not be written; what was acknowledged is in the store: %s", e)

    async def _follow(self) -> None:
        """Takes over the model file whenever it is replaced."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(POLL_SECONDS)
            if await loop.run_in_executor(None, self.live.replaced):
                good = await loop.run_in_executor(None, self.live.reload)
                self.metrics.event("reloads" if good else "reload_failures")

    async def _openapi(self, request: Request) -> Response:
        return answer(request, document(self.live.known, self.settings))

    async def _health(self, request: Request) -> Response:
        return answer(request, Status("alive"))

    async def _ready(self, request: Request) -> Response:
        if not self.ready:
            raise HttpError(503, "The service is starting or stopping.")
        if self.learner is not None and self.learner.trouble:
            raise HttpError(503, f"It predicts, but can learn nothing: {self.learner.trouble}")
        return answer(request, Status("ready"))

    async def _metrics(self, request: Request) -> Response:
        known = self.live.known
        facts = {"model_generation": float(known.generation), "model_since_seconds": known.since}
        if self.learner is not None:
            facts["last_example"] = float(self.learner.ledger.seq)
        return answer(request, self.metrics.text(facts), kind=CONTENT_TYPE_LATEST)

    def check(self, scope: Scope) -> None:
        """Raise what is wrong with a request before its body is read."""
        headers = dict(scope["headers"])
        host = headers.get(b"host", b"")
        if not host:
            raise HttpError(400, "Send one Host header.")
        if len(headers) < len(scope["headers"]):  # two readers may take each another one of two
            names = [each for each, _ in scope["headers"]]
            for once in ONCE:
                if names.count(once) > 1:
                    raise HttpError(400, f"Send one {once.decode().title()} header.")
        name = _name(host)
        if self.hosts is not None and name not in self.hosts:
            raise HttpError(
                421,
                f"This service is called {' or '.join(sorted(self.hosts))}, not {name!r:.80}. If that is its name, "
                "say --allow-host; with tokens any name will do.",
            )
        needed = SCOPES.get(scope["path"], "read")
        if needed == "learn":
            self._check_origin(host, headers.get(b"origin"), headers.get(b"sec-fetch-site"))
        if needed is not None:
            self.tokens.check(headers.get(b"authorization"), needed)

    def _check_origin(self, host: bytes, origin: bytes | None, site: bytes | None) -> None:
        """Refuses what a page of another site sends: a browser adds the credentials that it keeps for us."""
        foreign = site not in (None, b"same-origin", b"none")
        if origin is not None:
            authority = origin.partition(b"://")[2]
            own = authority == host or _name(authority) in map(str.lower, self.settings.hosts)
            foreign = not own or site == b"cross-site"
        if foreign:
            raise HttpError(403, "A page of another site may not change the model. Send this from a program.")


class Guard:
    """Before the routes: checks each request, turns what is raised into a problem, counts the response."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app, self._service = app, service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request, as ASGI hands it over."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begin, status = perf_counter(), 0

        async def counted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] += ALWAYS
            await send(message)

        try:
            self._service.check(scope)
            await self._app(scope, receive, counted)
        except ClientDisconnect:
            return
        except Exception as e:
            await _refusal(e)(scope, receive, counted)
        self._service.metrics.done(scope["path"], status, perf_counter() - begin, scope.get(ROWS, 0))


def _refusal(error: Exception) -> Response:
    if isinstance(error, TallybayesError):
        error = problem_of(error)
    elif isinstance(error, MemoryError):
        error = HttpError(503, "There is not enough memory for this now. Send fewer rows.")
    if not isinstance(error, HttpError):
        number = secrets.token_hex(4)  # what is wrong goes into the log; the client learns where to find it
        log.error("unexpected error %s", number, exc_info=error)
        error = HttpError(500, f"This should not have happened. The log of the service has it under {number}.")
    return Response(encode(error.problem()), error.status, {**error.headers, "content-type": TYPE})


async def _no_route(request: Request, error: Exception) -> Response:
    """404 and 405 of Starlette's router."""
    assert isinstance(error, HTTPException)
    path = request.url.path
    if error.status_code == 405:
        allowed = (error.headers or {}).get("Allow", "")
        return _refusal(HttpError(405, f"Send {allowed}.", headers={"allow": allowed}))
    if path in LEARNING:
        return _refusal(HttpError(404, "This service learns nothing: it was started without --learn."))
    return _refusal(HttpError(404, f"There is no {path!r:.80}. GET /openapi.json lists what there is."))


def _name(authority: bytes) -> str:
    """The name of a host, without its port."""
    name = authority.decode("latin-1").lower()
    return name if name.endswith("]") else name.rpartition(":")[0] or name


def _hosts(settings: Settings, tokens: Tokens) -> frozenset[str] | None:
    """The names that a request may call us by; None: any. With a token a request is no accident of a browser."""
    if tokens.known or (not settings.on_loopback and not settings.hosts):
        return None
    return frozenset({"localhost", "127.0.0.1", "[::1]", settings.host.lower(), *map(str.lower, settings.hosts)})
