"""The settings of a service: which model, where, for whom, and how much it takes."""

from __future__ import annotations

from dataclasses import dataclass, field

from tallybayes.errors import OptionError, brief, is_number


@dataclass(frozen=True)
class Limits:
    """How much a service takes of one request. Whatever is above is refused before it is looked at.

    Parameters
    ----------
    body : int, default=16777216
        Bytes of a body.
    rows : int, default=100000
        Rows of a request.
    cells : int, default=1000000
        Rows times columns times classes of an explanation, which is much larger than its question.
    columns : int, default=10000
        Columns of a table, before their names are compared with those of the model.
    seconds : float, default=10.0
        From the first byte of a request to its last; after that the connection is closed.
    connections : int, default=1000
        Open at a time, in each process.

    Examples
    --------
    >>> from tallybayes.serve import Limits
    >>> Limits(rows=1000).rows
    1000
    """

    body: int = 16 << 20
    rows: int = 100_000
    cells: int = 1_000_000
    columns: int = 10_000
    seconds: float = 10.0
    connections: int = 1000

    def __post_init__(self) -> None:
        for name in ("body", "rows", "cells", "columns", "connections"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise OptionError(f"The limit {name} must be a whole number of at least 1; got {brief(value)}.")
        if not is_number(self.seconds) or self.seconds <= 0:
            raise OptionError(f"The limit seconds must be a number above 0; got {brief(self.seconds)}.")


@dataclass(frozen=True)
class Settings:
    """Which model is served, where and for whom.

    Parameters
    ----------
    path : str
        The model file.
    host : str, default='127.0.0.1'
        The address to listen at. The default can be reached from this machine only.
    port : int, default=8000
        The port; 0 takes one that is free.
    workers : int, default=1
        Processes that answer.
    learn : bool, default=False
        Whether it also learns and forgets.
    new_classes : bool, default=False
        Whether an example may bring a class that the model has not seen. Otherwise a mistyped label is refused.
    snapshot_every : int, default=10000
        Examples after which the model file is written anew; so many a start may have to replay.
    store : str or None, default=None
        Where labelled examples are kept: the address of a PostgreSQL database, postgresql://..., for several processes
        or machines that learn one model; None: SQLite, in a file beside the model.
    token_file : str or None, default=None
        A file of tokens, one in a line: a scope (read or learn), a space, the token. None: no token is asked for.
    sign : str or None, default=None
        A PEM file with the Ed25519 private key that deletion receipts are signed with; None: they are not signed.
    hosts : tuple of str, default=()
        Names under which the service is called, besides those of this machine. Without tokens, a request for another
        name is refused: it may come from a web page that has given its own name our address.
    limits : Limits, default=Limits()
        How much is taken of one request.

    Examples
    --------
    >>> from tallybayes.serve import Settings
    >>> Settings("model.tb", port=8080).host
    '127.0.0.1'
    """

    path: str
    host: str = "127.0.0.1"
    port: int = 8000
    workers: int = 1
    learn: bool = False
    new_classes: bool = False
    snapshot_every: int = 10_000
    store: str | None = None
    token_file: str | None = None
    sign: str | None = None
    hosts: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise OptionError(f"workers must be at least 1; got {brief(self.workers)}.")
        if self.snapshot_every < 1:
            raise OptionError(f"snapshot_every must be at least 1; got {brief(self.snapshot_every)}.")
        if self.store is not None and not self.store.startswith(("postgresql://", "postgres://")):
            raise OptionError(f"store must be the address of a PostgreSQL database; got {brief(self.store)}.")
        if self.store is not None and not self.learn:
            raise OptionError("A store keeps labelled examples: --store goes with --learn.")
        if self.learn and self.workers > 1 and self.store is None:
            raise OptionError(
                "Without --store one process learns. Give the address of a PostgreSQL database for several, or leave "
                "--workers at 1; others may serve the same file without --learn, and follow it as it is written anew."
            )
        if self.learn and self.token_file is None and not self.on_loopback:
            raise OptionError(
                f"Whoever reaches {self.host} could change the model. Give tokens with --token-file, or listen at "
                "127.0.0.1."
            )
        if self.new_classes and not self.learn:
            raise OptionError("New classes come with labelled examples: --new-classes goes with --learn.")
        if self.sign is not None and not self.learn:
            raise OptionError("Receipts are of examples that were learned: --sign goes with --learn.")

    @property
    def on_loopback(self) -> bool:
        """bool: whether only this machine can reach it."""
        return self.host in ("localhost", "::1") or self.host.startswith("127.")
