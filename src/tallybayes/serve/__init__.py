"""A fitted model as an HTTP service: `tallybayes serve model.tb`, or `application(path)` in an ASGI server of your own.

The faces of the library that answer hold a `Predictor`; this one puts HTTP around it. It needs the extra `serve`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tallybayes.serve.service_settings import Limits, Settings

if TYPE_CHECKING:
    from starlette.applications import Starlette

__all__ = ["Limits", "Settings", "application"]


def application(settings: Settings) -> Starlette:
    """Make an ASGI application that answers for a model file.

    The model is loaded at once, so that a file that holds none is refused here and not at the first request.

    Parameters
    ----------
    settings : Settings
        The model file, and what is allowed. The address and the number of processes are for `tallybayes serve`; an
        ASGI server has its own.

    Returns
    -------
    Starlette
        The application: hand it to uvicorn, hypercorn or another ASGI server, or mount it in one of your own. One with
        `learn` and no `store` belongs to one process.

    Raises
    ------
    ModelFileError
        If the file holds no model.
    OptionError
        If the settings are outside what is allowed, or a package of the extra `serve` is missing.

    Examples
    --------
    >>> import tempfile
    >>> from tallybayes import NaiveBayes, save
    >>> from tallybayes.serve import Settings, application
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(NaiveBayes().fit([{"sky": "clear"}, {"sky": "grey"}], ["sail", "stay"]), f"{folder}/model.tb")
    ...     app = application(Settings(f"{folder}/model.tb"))
    >>> [route.path for route in app.routes][:3]
    ['/predict', '/explain', '/decide']
    """
    require()
    from tallybayes.serve.app import Service

    return Service(settings).app


def require() -> None:
    """Raises one clear error if a package of the extra is not there."""
    from tallybayes.errors import OptionError

    try:
        import msgspec  # noqa: F401
        import prometheus_client  # noqa: F401
        import pyarrow  # noqa: F401
        import starlette  # noqa: F401
    except ImportError as e:
        raise OptionError(f"{e}. The service needs more than the library: pip install 'tallybayes[serve]'.") from None
