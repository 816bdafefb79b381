"""The application: which path is answered by what, for whom, within which limits."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from time import perf_counter

from tallybayes.errors import TallybayesError
from tallybayes.serve import metrics
from tallybayes.serve.http_errors import HttpError, problem_of
from tallybayes.serve.learning_routes import Learner, LearningRoutes
from tallybayes.serve.ledger import Ledger
from tallybayes.serve.live import Live
from tallybayes.serve.metrics import Metrics
from tallybayes.serve.page import DESCRIPTION, Pages
from tallybayes.serve.prediction_routes import Asking
from tallybayes.serve.service_settings import Settings
from tallybayes.serve.tokens import Tokens, read_tokens
from tallybayes.serve.wire import BODY, Answer, GoneError, Message, Receive, Request, Send, read_body, respond

log = logging.getLogger("tallybayes.serve")
INLINE = 8 << 10  # bytes of a body that is answered at once; longer ones by a thread, so that others need not wait
THREADS = 2
EVERY = 1.0  # seconds between two looks at the model file
LEARNING_PATHS = ("/learn", "/forget", "/examples")  # paths of a service that may be learned
OTHER = "other"  # the route of what has none
Handler = Callable[[Request], Answer]
Later = Callable[[Request], Awaitable[Answer]]


@dataclass(frozen=True)
class Route:
    """Who answers a path. scope: of the token that it takes; None: anybody may ask. later: if it waits for a disk.

    slow: whether a thread does it, however short the request is.
    """

    number: int
    method: str
    handler: Handler | None = None
    later: Later | None = None
    scope: str | None = "read"
    slow: bool = False


class Service:
    """An ASGI application.

    Parameters
    ----------
    settings : Settings
        What it was told.
    live : Live
        The model.
    tokens : Tokens
        Who may ask.
    """

    def __init__(self, settings: Settings, live: Live, tokens: Tokens) -> None:
        self.settings, self.live, self.tokens = settings, live, tokens
        self.asking = Asking(live, settings)
        self.ready = False
        self._hosts = _hosts(settings, tokens)
        self._pool = ThreadPoolExecutor(THREADS, "tallybayes")
        self._tasks: list[asyncio.Task[None]] = []
        self.routes: dict[str, Route] = {}
        ask = self.asking
        for path, handler in {"/predict": ask.predict, "/explain": ask.explain, "/decide": ask.decide}.items():
            self._add(path, "POST", handler)
        pages = Pages(live)
        self._add("/", "GET", pages.page, slow=True)
        self._add(DESCRIPTION, "GET", pages.description, slow=True)
        self._add("/model", "GET", ask.model)
        self._add("/openapi.json", "GET", ask.openapi)
        self._add("/metrics", "GET", self._metrics)
        self._add("/healthz", "GET", self._health, scope=None)
        self._add("/readyz", "GET", self._ready, scope=None)
        learned = LEARNING_PATHS if settings.learn else ()
        self.metrics = Metrics([*self.routes, *learned, OTHER], settings.workers)
        self.learner: Learner | None = None
        if settings.learn:
            self.learner = Learner(Ledger(live, self.metrics.event), settings.snapshot_every)
            learning = LearningRoutes(self.learner, settings, self.metrics)
            self._add("/learn", "POST", later=learning.learn, scope="learn")
            self._add("/forget", "POST", later=learning.forget, scope="learn")
            self._add("/examples", "GET", later=learning.examples, scope="learn")
        self.at_once = {p.encode(): r for p, r in self.routes.items() if r.handler is not None and not r.slow}
        self._short = min(INLINE, settings.limits.body)

    def _add(
        self,
        path: str,
        method: str,
        handler: Handler | None = None,
        *,
        later: Later | None = None,
        scope: str | None = "read",
        slow: bool = False,
    ) -> None:
        self.routes[path] = Route(len(self.routes), method, handler, later, scope, slow)

    # --- ASGI --------------------------------------------------------------------------------------------------

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer one request, as ASGI hands it over.

        Parameters
        ----------
        scope : dict
            The request without its body.
        receive : callable
            Gives the body.
        send : callable
            Takes the answer.
        """
        if scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        else:
            await send({"type": "websocket.close", "code": 1000})

    async def _http(self, scope: Message, receive: Receive, send: Send) -> None:
        begin = perf_counter()
        route = self.routes.get(scope["path"])
        try:
            answer = await self._answer(route, scope, receive)
        except GoneError:
            return
        except Exception as e:
            answer = _refusal(e)
        await respond(send, answer)
        self.count(route, answer, perf_counter() - begin)

    async def _answer(self, route: Route | None, scope: Message, receive: Receive) -> Answer:
        request, method = Request(scope["headers"], scope["query_string"]), scope["method"]
        self._check(route, request)
        if route is None and scope["path"] in LEARNING_PATHS:
            raise HttpError(404, "This service learns nothing: it was started without --learn.")
        if route is None:
            raise HttpError(404, f"There is no {scope['path']!r:.80}. GET /openapi.json lists what there is.")
        if method != route.method and not (method == "HEAD" and route.method == "GET"):
            allowed = "POST" if route.method == "POST" else "GET, HEAD"
            raise HttpError(405, f"Send {allowed}.", headers=((b"allow", allowed.encode()),))
        if method == "POST":
            body: bytes | None = scope.get(BODY)
            request.body = await read_body(request, receive, self.settings.limits) if body is None else body
        if route.later is not None:
            return await route.later(request)
        assert route.handler is not None
        if route.slow or len(request.body) > INLINE:
            return await asyncio.get_running_loop().run_in_executor(self._pool, route.handler, request)
        return route.handler(request)

    def _check(self, route: Route | None, request: Request) -> None:
        """Raises what is wrong with a request before its body is looked at."""
        if not request.host:
            raise HttpError(400, "Send one Host header.")
        if self._hosts is not None:
            self._check_host(request.host)
        scope = "read" if route is None else route.scope
        if scope == "learn":
            self._check_origin(request)
        if scope is not None:
            self.tokens.check(request.authorization, scope)

    # --- the short way, past ASGI ------------------------------------------------------------------------------

    def is_simple(self, route: Route, request: Request) -> bool:
        """Whether the body may be waited for: it comes as one, it is not too long, and who sends it may ask.

        Parameters
        ----------
        route : Route
            Where it goes.
        request : Request
            Without its body.

        Returns
        -------
        bool
            True if it may.
        """
        if request.in_parts:
            return False
        if self.is_short(request.length):
            return True  # short enough to be waited for, whoever sends it
        try:
            self._check(route, request)
        except HttpError:
            return False
        return request.length <= self.settings.limits.body

    def is_short(self, n: int) -> bool:
        """Whether a request with a body of so many bytes is answered at once.

        Parameters
        ----------
        n : int
            How many bytes.

        Returns
        -------
        bool
            True if it is.
        """
        return n <= self._short

    def now(self, route: Route, request: Request) -> Answer:
        """Answer a short request for one of `at_once`.

        Parameters
        ----------
        route : Route
            Where it goes.
        request : Request
            With its body.

        Returns
        -------
        Answer
            What goes back.
        """
        try:
            self._check(route, request)
            assert route.handler is not None
            return route.handler(request)
        except Exception as e:
            return _refusal(e)

    def count(self, route: Route | None, answer: Answer, seconds: float) -> None:
        """Count a request that was answered.

        Parameters
        ----------
        route : Route or None
            Where it went; None: nowhere.
        answer : Answer
            What went back.
        seconds : float
            How long it took.
        """
        number = len(self.routes) if route is None else route.number
        self.metrics.done(number, answer.status, seconds, answer.rows)

    def _check_origin(self, request: Request) -> None:
        """Refuses what a page of another site sends: a browser adds the credentials that it keeps for us."""
        foreign = request.site not in (None, b"same-origin", b"none")
        if request.origin is not None:
            authority = request.origin.partition(b"://")[2]
            own = authority == request.host or _name(authority) in map(str.lower, self.settings.hosts)
            foreign = not own or request.site == b"cross-site"
        if foreign:
            raise HttpError(403, "A page of another site may not change the model. Send this from a program.")

    def _check_host(self, host: bytes) -> None:
        name = _name(host)
        if self._hosts is not None and name not in self._hosts:
            raise HttpError(
                421,
                f"This service is called {' or '.join(sorted(self._hosts))}, not {name!r:.80}. If that is its name, "
                "say --allow-host; with tokens any name will do.",
            )

    # --- from start to end -------------------------------------------------------------------------------------

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                try:
                    await self.start()
                except Exception as e:
                    await send({"type": "lifespan.startup.failed", "message": str(e)})
                    return
                await send({"type": "lifespan.startup.complete"})
            else:
                try:
                    await self.stop()
                except Exception as e:  # the model file cannot be written; what was learned is in the journal
                    await send({"type": "lifespan.shutdown.failed", "message": str(e)})
                    return
                await send({"type": "lifespan.shutdown.complete"})
                return

    async def start(self) -> None:
        """Begin to look after the model file: to follow it, or to write what is learned."""
        if self.learner is None:
            self._tasks.append(asyncio.create_task(self._follow()))
        else:
            self.learner.start()
        self.ready = True

    async def stop(self) -> None:
        """End what was begun; every request is answered by now."""
        self.ready = False
        for task in self._tasks:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        self._pool.shutdown(wait=True)
        if self.learner is not None:
            await self.learner.stop()

    async def _follow(self) -> None:
        """Takes over the model file whenever it is replaced."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(EVERY)
            if await loop.run_in_executor(self._pool, self.live.replaced):
                good = await loop.run_in_executor(self._pool, self.live.reload)
                self.metrics.event("reloads" if good else "reload_failures")

    # --- about the service itself ------------------------------------------------------------------------------

    def _health(self, _: Request) -> Answer:
        return Answer(b'{"status":"alive"}')

    def _ready(self, _: Request) -> Answer:
        if not self.ready:
            raise HttpError(503, "The service is starting or stopping.")
        if self.learner is not None and self.learner.broken:
            raise HttpError(503, f"It answers, but can learn nothing: {self.learner.broken}")
        return Answer(b'{"status":"ready"}')

    def _metrics(self, _: Request) -> Answer:
        known = self.live.known
        facts = {"model_generation": float(known.generation), "model_since_seconds": known.since}
        if self.learner is not None:
            facts["examples"] = float(len(self.learner.ledger.index))
        return Answer(self.metrics.text(facts).encode(), metrics.TYPE)


def _name(authority: bytes) -> str:
    """The name of a host, without its port."""
    name = authority.decode("latin-1").lower()
    return name if name.endswith("]") else name.rpartition(":")[0] or name


def make_service(settings: Settings) -> Service:
    """The application for some settings."""
    return Service(settings, Live(settings.path), read_tokens(settings.token_file))


def _hosts(settings: Settings, tokens: Tokens) -> frozenset[str] | None:
    """The names that a request may call us by; None: any. With a token a request is no accident of a browser."""
    if tokens.known or (not settings.on_loopback and not settings.hosts):
        return None
    return frozenset({"localhost", "127.0.0.1", "[::1]", settings.host.lower(), *map(str.lower, settings.hosts)})


def _refusal(error: Exception) -> Answer:
    if isinstance(error, HttpError):
        return Answer.refusal(error)
    if isinstance(error, TallybayesError):
        return Answer.refusal(problem_of(error))
    if isinstance(error, MemoryError):
        return Answer.refusal(HttpError(503, "There is not enough memory for this now. Send fewer rows."))
    number = secrets.token_hex(4)  # what is wrong goes into the log; the client is told where to find it
    log.error("unexpected error %s", number, exc_info=error)
    return Answer.refusal(
        HttpError(500, f"This should not have happened. The log of the service has it under {number}.")
    )
