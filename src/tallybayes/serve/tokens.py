"""Who may predict and who may learn: tokens in a file, kept here as hashes and compared in constant time."""

from __future__ import annotations

import binascii
import hashlib
import hmac
import re
from dataclasses import dataclass

from tallybayes.errors import OptionError
from tallybayes.serve.http_errors import HttpError

SCOPES = ("read", "learn")  # a token that may learn may predict too
COMMENT = re.compile(r"(?:^|\s)#")
MIN_TOKEN_LENGTH = 16  # characters: what can be guessed is no token
ASK = {"www-authenticate": 'Basic realm="tallybayes", charset="UTF-8"'}  # for browsers; programs send Bearer


@dataclass(frozen=True)
class Tokens:
    """The hashes of tokens, and what each may do; none: nobody is asked for one."""

    known: tuple[tuple[bytes, str], ...] = ()

    def check(self, authorization: bytes | None, scope: str) -> None:
        """Raise 401 without a known token, 403 if it may not do this. All are compared, whichever it is."""
        if not self.known:
            return
        given = hashlib.sha256(_presented(authorization)).digest()
        found = {known_scope for known, known_scope in self.known if hmac.compare_digest(known, given)}
        if not found:
            raise HttpError(401, "Send a token that this service knows: 'Authorization: Bearer TOKEN'.", headers=ASK)
        if scope == "learn" and "learn" not in found:
            raise HttpError(403, "This token may predict. To learn or forget takes a token of the scope 'learn'.")


def _presented(authorization: bytes | None) -> bytes:
    """The token in a header: Bearer, or the password of Basic, which is how a browser sends one."""
    kind, _, rest = (authorization or b"").strip().partition(b" ")
    if kind.lower() == b"bearer":
        return rest.strip()
    if kind.lower() == b"basic":
        try:
            return binascii.a2b_base64(rest.strip()).partition(b":")[2]
        except binascii.Error:
            return b""
    return b""


def read_tokens(path: str | None) -> Tokens:
    """The tokens of a file. Errors name the line, never the token."""
    if path is None:
        return Tokens()
    with open(path, encoding="utf-8-sig") as file:
        lines = file.read().splitlines()
    known = []
    for number, line in enumerate(lines, 1):
        line = COMMENT.split(line, maxsplit=1)[0].strip()
        if not line:
            continue
        scope, *rest = line.split(maxsplit=1)
        if scope not in SCOPES or not rest:
            raise OptionError(f"{path}, line {number}: expected 'read TOKEN' or 'learn TOKEN'.")
        token = rest[0]
        if len(token) < MIN_TOKEN_LENGTH or len(token.split()) > 1 or not token.isascii():
            raise OptionError(
                f"{path}, line {number}: a token is at least {MIN_TOKEN_LENGTH} ASCII characters without a space. "
                "`openssl rand -hex 32` makes a good one."
            )
        known.append((hashlib.sha256(token.encode()).digest(), scope))
    if not known:
        raise OptionError(f"{path} holds no token. Write lines such as 'read TOKEN' or 'learn TOKEN'.")
    return Tokens(tuple(known))
