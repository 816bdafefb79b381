"""The command that serves a model: serve."""

from __future__ import annotations

from typing import Annotated

import typer

from tallybayes.cli import options, output


@output.answering
def serve(
    model: options.ModelFile,
    host: Annotated[
        str, typer.Option("--host", help="The address to listen at. The default is for this machine only.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="The port; 0: a free one.")] = 8000,
    workers: Annotated[int, typer.Option("--workers", min=1, help="Number of processes.")] = 1,
    learn: Annotated[bool, typer.Option("--learn", help="Also learn and forget; MODEL is updated.")] = False,
    new_classes: Annotated[
        bool,
        typer.Option("--new-classes", help="With --learn: accept examples of unseen classes."),
    ] = False,
    snapshot_every: Annotated[
        int,
        typer.Option("--snapshot-every", min=1, help="With --learn: write MODEL after so many examples."),
    ] = 10_000,
    store: Annotated[
        str | None,
        typer.Option(
            "--store",
            metavar="ADDRESS",
            help="With --learn: a PostgreSQL database, postgresql://..., for several processes that learn one model.",
        ),
    ] = None,
    token_file: Annotated[
        str | None,
        typer.Option(
            "--token-file",
            metavar="FILE",
            help="Require a token. One per line: its scope (read or learn), a space, the token.",
        ),
    ] = None,
    sign: Annotated[
        str | None,
        typer.Option(
            "--sign",
            metavar="KEY",
            help="With --learn: sign deletion receipts with this Ed25519 private key, a PEM file.",
        ),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-host",
            metavar="NAME",
            help="A further host name of the service, such as that of a proxy. May be repeated.",
        ),
    ] = None,
    max_rows: Annotated[int, typer.Option("--max-rows", min=1, help="Maximum number of rows of a request.")] = 100_000,
    max_bytes: Annotated[int, typer.Option("--max-bytes", min=1, help="Maximum number of bytes of a request.")] = 16
    << 20,
    timeout: Annotated[
        float, typer.Option("--timeout", min=0.001, help="Seconds that a client has to send a request.")
    ] = 10.0,
) -> None:
    """Serves a model over HTTP: predict, explain, decide.

    GET /openapi.json describes the interface. When the model file is replaced, the service switches to the new model
    without losing a request. Ctrl-C ends it after the current requests. With --learn it also accepts POST /learn and
    /forget: an acknowledged example survives a crash, and is counted once even if it is sent again.
    """
    from tallybayes.errors import OptionError
    from tallybayes.serve import Limits, Settings

    try:
        from tallybayes.serve.server import run
    except ImportError as e:
        raise OptionError(f"{e}. To serve takes: pip install 'tallybayes[serve]'.") from None
    settings = Settings(
        model,
        host,
        port,
        workers,
        learn,
        new_classes,
        snapshot_every,
        store,
        token_file=token_file,
        sign=sign,
        hosts=tuple(allow_host or ()),
        limits=Limits(body=max_bytes, rows=max_rows, seconds=timeout),
    )
    raise typer.Exit(run(settings, output.note))
