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
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="The port; 0 takes a free one.")] = 8000,
    workers: Annotated[int, typer.Option("--workers", min=1, help="Processes that answer.")] = 1,
    learn: Annotated[
        bool, typer.Option("--learn", help="Also learn and forget; what is learned is written into MODEL.")
    ] = False,
    new_classes: Annotated[
        bool,
        typer.Option("--new-classes", help="With --learn: an example may bring a class that the model has not seen."),
    ] = False,
    snapshot_every: Annotated[
        int,
        typer.Option("--snapshot-every", min=1, help="With --learn: examples after which MODEL is written anew."),
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
            help="Ask for a token. A line for each: read or learn, a space, the token.",
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
            help="Another name under which the service is called, such as that of a proxy before it. May be repeated.",
        ),
    ] = None,
    max_rows: Annotated[int, typer.Option("--max-rows", min=1, help="Rows of one request.")] = 100_000,
    max_bytes: Annotated[int, typer.Option("--max-bytes", min=1, help="Bytes of one request.")] = 16 << 20,
    timeout: Annotated[
        float, typer.Option("--timeout", min=0.001, help="Seconds that a client has to send a request.")
    ] = 10.0,
) -> None:
    """Serves a model over HTTP: predict, explain, decide.

    GET /openapi.json says what can be asked. When the model file is replaced the new one is taken over, and no request
    is lost. Ctrl-C ends it after the requests that are under way. With --learn it takes POST /learn and /forget too: a
    example that was acknowledged survives a crash, and is counted once though it is sent again.
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
