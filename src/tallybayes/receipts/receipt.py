"""Receipt: the record of one deletion, as JSON, signed if a key is given."""

from __future__ import annotations

import datetime as dt
import hashlib
import hmac
import json
import os
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import tallybayes
from tallybayes.data.table import read_table
from tallybayes.errors import OptionError, ReceiptError
from tallybayes.estimators import provenance
from tallybayes.model.cancellation import cancelled_columns
from tallybayes.receipts.removed_rows import RemovedRows
from tallybayes.receipts.residue import fingerprint, residue

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from tallybayes.estimators.base import GenerativeClassifier

FORMAT = 1
EXACT_MODEL = (
    "The model is the one that fit gives on the rows that remain, every choice included, bit for bit, unless a "
    "categorical type lists a level that only removed rows had: it still counts in smoothing. Every removed row was "
    "one that the model had learned."
)
EXACT_STATISTICS = (
    "Counts are those of the rows that remain, exactly; means and variances to rounding. What is listed under "
    "'remains' may have been chosen with the removed rows, or lost digits with them, and stays as it is until it is "
    "renewed. "
)
REFIT = "fit(X, y) on the rows that remain"
KNOWN = "Every removed row was one that the model had learned, by its hash."
TRUSTED = "That the removed rows had been learned is taken on trust: no count and no sum of squares fell below 0."


@dataclass(frozen=True)
class Receipt:
    """The record of one deletion.

    ``model.forget(X, y, receipt=True)`` makes one, and so does `make`.

    Parameters
    ----------
    time : str
        When it was made: UTC, ISO 8601.
    version : str
        The version of tallybayes.
    estimator : str
        The class of the model.
    hashes : tuple of str
        HMAC-SHA256 of each removed row, sorted; equal rows have equal hashes.
    before : str
        HMAC-SHA256 of the fingerprint of the model before, under the key of the hashes: whoever has the model after
        could learn guessed rows with it, and find the removed ones by the fingerprint itself.
    after : str or None
        Fingerprint of the model after; None if it has no class left.
    memory : str
        What the model keeps of its rows: 'rows', 'sample' or 'sums'.
    guarantee : str
        What holds for the model after, in one sentence or two.
    remains : dict from str to str
        What may have been chosen with the removed rows and stays, and variances of which they left few digits; how
        each is renewed.
    residue : dict
        The search for removed values in the written model: how many were ``searched`` (texts of 4 characters or more,
        numbers of 6 digits or more), how many were ``found`` by column, and how many are ``shared``: there, because
        remaining rows have them too. A number that is found may be another row's too. Where no value was long enough
        to be searched, a ``note`` says so.
    key : str or None, default=None
        The key of the hashes, in hexadecimal digits. Whoever has it can check a guess of a row; it is written only if
        asked for, and it is not part of what is signed.
    public_key : str or None, default=None
        The Ed25519 public key that the signature belongs to.
    signature : str or None, default=None
        The Ed25519 signature of everything but key and signature.

    See Also
    --------
    fingerprint : The hash by which it names a model.

    Examples
    --------
    >>> from tallybayes import NaiveBayes
    >>> rows = [{"sky": "clear"}, {"sky": "grey"}, {"sky": "grey"}]
    >>> model = NaiveBayes().fit(rows, ["sail", "stay", "sail"])
    >>> receipt = model.forget(rows[2:], ["sail"], receipt=True)
    >>> len(receipt.hashes), receipt.residue["found"], receipt.problems(model)
    (1, {}, [])
    """

    time: str
    version: str
    estimator: str
    hashes: tuple[str, ...]
    before: str
    after: str | None
    memory: str
    guarantee: str
    remains: dict[str, str]
    residue: dict[str, Any]
    key: str | None = None
    public_key: str | None = None
    signature: str | None = None

    def to_json(self, *, key: bool = False) -> str:
        """Write the receipt as JSON.

        Parameters
        ----------
        key : bool, default=False
            Whether the key of the hashes is written too. With it, whoever has a row can check that it was removed, and
            whoever guesses a row can check the guess: rows of few columns are easily guessed.

        Returns
        -------
        str
            What `from_json` reads.
        """
        document = {"receipt": FORMAT, **self._document(), "key": self.key if key else None}
        return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read a receipt.

        Parameters
        ----------
        text : str or bytes
            What `to_json` gave.

        Returns
        -------
        Receipt
            The same.

        Raises
        ------
        ReceiptError
            If it is no receipt.
        """
        try:
            found = json.loads(text, object_pairs_hook=_once)
        except ValueError as e:
            raise ReceiptError(f"This is no receipt: it is not JSON ({e!s:.80}).") from None
        if not isinstance(found, dict) or found.pop("receipt", None) != FORMAT:
            raise ReceiptError(f'This is no receipt of format {FORMAT}: it does not have "receipt": {FORMAT}.')
        names = {f.name for f in fields(cls)}
        odd = sorted(names ^ set(found))
        if odd:
            raise ReceiptError(f"This is no receipt: {odd[0]!r:.60} is {'absent' if odd[0] in names else 'unknown'}.")
        _check_types(found)
        return cls(**{**found, "hashes": tuple(found["hashes"])})

    def signed(self, key: object) -> Self:
        """Sign the receipt.

        Parameters
        ----------
        key : path, bytes or Ed25519PrivateKey
            The private key: a PEM file, its bytes, or an object of `cryptography`.

        Returns
        -------
        Receipt
            The same, with public key and signature.
        """
        from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

        private = load_key(key)
        public = private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw).hex()
        unsigned = replace(self, public_key=public, signature=None)
        return replace(unsigned, signature=private.sign(unsigned._signed_bytes()).hex())

    def covers(self, model: GenerativeClassifier, X: object, y: object, sample_weight: object = None) -> bool:
        """Return whether rows are among those removed; needs the key of the hashes.

        Parameters
        ----------
        model : fitted classifier
            The model, whose schema names the columns of a matrix.
        X : table of shape (n_rows, n_columns)
            The rows.
        y : array-like of shape (n_rows,)
            Their labels.
        sample_weight : array-like of shape (n_rows,), default=None
            Their weights; None: 1.

        Returns
        -------
        bool
            Whether every one of them was removed, as often as it is given.

        Raises
        ------
        ReceiptError
            If the receipt does not have the key.
        """
        if self.key is None:
            raise ReceiptError(
                "This receipt does not have the key of its hashes, so no row can be compared with them. It is in the "
                "receipt that forget returned; to_json(key=True) writes it."
            )
        rows = RemovedRows(bytes.fromhex(self.key))
        rows.add(model.schema_, X, y, sample_weight)
        left = list(self.hashes)
        for found in rows.hashes:
            if found not in left:
                return False
            left.remove(found)
        return True

    def problems(self, model: GenerativeClassifier | None = None, *, public_key: object = None) -> list[str]:
        """Check the receipt.

        Parameters
        ----------
        model : fitted classifier, default=None
            The model that it is about, as it is now; None leaves that open.
        public_key : str, path or bytes, default=None
            The Ed25519 public key that it must be signed with: hexadecimal digits, or a PEM file or its bytes. None
            checks a signature against the key inside the receipt, which anybody can put there.

        Returns
        -------
        list of str
            What does not hold; empty if all that could be checked does.
        """
        found: list[str] = []
        if public_key is not None and self.signature is None:
            found.append("It is not signed.")
        if self.signature is not None and not _verifies(self):
            found.append("The signature does not belong to what it says: it was changed, or signed with another key.")
        if public_key is not None and self.public_key not in (None, read_public_key(public_key)):
            found.append("It is signed with another key than the one given.")
        if model is not None:
            now = fingerprint(model)
            if type(model).__name__ != self.estimator:
                found.append(f"It is about a {self.estimator}; the model is a {type(model).__name__}.")
            elif self.key is not None and _keyed(bytes.fromhex(self.key), now) == self.before:
                found.append("The model is the one before: the rows are still in it.")
            elif now != self.after:
                found.append(
                    f"The model is {'not' if self.key is None else 'neither the one before nor'} the one after: it has "
                    "learned or forgotten since, or it is another one."
                    + (" It may be the one before: only a receipt with its key can tell." if self.key is None else "")
                )
        return found

    def _document(self) -> dict[str, Any]:
        """All fields as JSON has them."""
        found = {f.name: getattr(self, f.name) for f in fields(self)}
        return {**found, "hashes": list(self.hashes)}

    def _signed_bytes(self) -> bytes:
        """What the signature is of."""
        document = {k: v for k, v in self._document().items() if k not in ("key", "signature")}
        return json.dumps({"receipt": FORMAT, **document}, sort_keys=True, separators=(",", ":")).encode("ascii")


class RecordedForgetting:
    """Forgets rows, in one batch or many, and makes one receipt of them all.

    Parameters
    ----------
    model : fitted classifier
        What forgets. One that no file can hold is refused.

    Examples
    --------
    >>> from tallybayes import NaiveBayes
    >>> from tallybayes.receipts import RecordedForgetting
    >>> model = NaiveBayes().fit([{"sky": "clear"}, {"sky": "grey"}, {"sky": "red"}], ["sail", "stay", "stay"])
    >>> recorded = RecordedForgetting(model)
    >>> recorded.forget([{"sky": "grey"}], ["stay"])
    >>> recorded.receipt().problems(model)
    []
    """

    def __init__(self, model: GenerativeClassifier) -> None:
        self.model, self.before, self.rows = model, model.copy(), RemovedRows()
        self.fingerprint = fingerprint(self.before)

    def forget(self, X: object, y: object, sample_weight: object = None) -> None:
        """Remove rows, as ``model.forget`` does.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            The rows, as they were learned.
        y : array-like of shape (n_rows,)
            Their labels.
        sample_weight : array-like of shape (n_rows,), default=None
            The weights that they were learned with.
        """
        table = read_table(X)
        noted = RemovedRows(self.rows.key)
        noted.add(self.before.schema_, table, y, sample_weight)
        self.model.forget(table, y, sample_weight)
        self.rows.merge(noted)

    def receipt(self, sign: object = None) -> Receipt:
        """Make the receipt.

        Parameters
        ----------
        sign : path, bytes or Ed25519PrivateKey, default=None
            The key to sign it with; None: not signed.

        Returns
        -------
        Receipt
            Of all rows so far.
        """
        return make(self.before, self.model, self.rows, sign=sign)


def make(
    before: GenerativeClassifier,
    after: GenerativeClassifier,
    rows: RemovedRows,
    *,
    sign: object = None,
) -> Receipt:
    """Make the receipt of a deletion that has happened.

    Parameters
    ----------
    before : fitted classifier
        A copy of the model that had the rows.
    after : fitted classifier
        The model without them.
    rows : RemovedRows
        What was removed.
    sign : path, bytes or Ed25519PrivateKey, default=None
        The key to sign it with; None: not signed.

    Returns
    -------
    Receipt
        With the key of the hashes in it.

    Examples
    --------
    >>> from tallybayes import NaiveBayes
    >>> from tallybayes.receipts import RemovedRows, make
    >>> model = NaiveBayes().fit([{"sky": "clear"}, {"sky": "grey"}], ["sail", "stay"])
    >>> rows, before = RemovedRows(), model.copy()
    >>> rows.add(model.schema_, [{"sky": "grey"}], ["stay"])
    >>> make(before, model.forget([{"sky": "grey"}], ["stay"]), rows).problems(model)
    []
    """
    memory = str(getattr(after, "memory", "sums"))
    exact = memory == "rows"
    guarantee = EXACT_MODEL if exact else EXACT_STATISTICS + (KNOWN if memory == "hashes" else TRUSTED)
    receipt = Receipt(
        time=dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        version=tallybayes.__version__,
        estimator=type(after).__name__,
        hashes=tuple(sorted(rows.hashes)),
        before=_keyed(rows.key, fingerprint(before)),
        after=fingerprint(after),
        memory=memory,
        guarantee=guarantee,
        remains={} if exact else _remains(before, after),
        residue=residue(after, rows),
        key=rows.key.hex(),
    )
    return receipt if sign is None else receipt.signed(sign)


def _keyed(key: bytes, found: str | None) -> str:
    """The keyed hash of a fingerprint."""
    return hmac.new(key, f"before {found}".encode("ascii"), hashlib.sha256).hexdigest()


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """ValueError if a key comes twice: other readers may take the first."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key comes twice")
    return found


def _remains(before: GenerativeClassifier, after: GenerativeClassifier) -> dict[str, str]:
    """What may have been chosen with the removed rows, variances that lost digits with them; how each is renewed."""
    lost = cancelled_columns(before.fitted_, after.fitted_)
    return {**provenance.choices(after), **{f"variance of {name!r}": REFIT for name in lost}}


def load_key(key: object) -> Ed25519PrivateKey:
    """Read an Ed25519 private key.

    Parameters
    ----------
    key : path, bytes or Ed25519PrivateKey
        A PEM file without a password, its bytes, or an object of `cryptography`.

    Returns
    -------
    Ed25519PrivateKey
        What signs receipts.

    Raises
    ------
    OptionError
        If it is none, or `cryptography` is not installed.

    Examples
    --------
    >>> from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    >>> from tallybayes.receipts import load_key
    >>> key = Ed25519PrivateKey.generate()
    >>> load_key(key) is key
    True
    """
    ed25519, load = _cryptography("load_pem_private_key")
    if isinstance(key, ed25519.Ed25519PrivateKey):
        return key  # type: ignore[no-any-return]
    try:
        found = load(_pem(key), password=None)
    except (ValueError, TypeError) as e:
        raise OptionError(f"The key is no Ed25519 private key in PEM without a password: {e!s:.120}.") from None
    if not isinstance(found, ed25519.Ed25519PrivateKey):
        raise OptionError(f"The key must be an Ed25519 private key; got {type(found).__name__}.")
    return found  # type: ignore[no-any-return]


def read_public_key(key: object) -> str:
    """The hexadecimal digits of an Ed25519 public key: as they are, or of a PEM file or its bytes."""
    if isinstance(key, str) and len(key) == 64 and all(c in "0123456789abcdef" for c in key.lower()):
        return key.lower()
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    ed25519, load = _cryptography("load_pem_public_key")
    try:
        found = load(_pem(key))
    except ValueError as e:
        raise OptionError(f"This is no Ed25519 public key in PEM: {e!s:.120}.") from None
    if not isinstance(found, ed25519.Ed25519PublicKey):
        raise OptionError(f"The key must be an Ed25519 public key; got {type(found).__name__}.")
    return str(found.public_bytes(Encoding.Raw, PublicFormat.Raw).hex())


def _verifies(receipt: Receipt) -> bool:
    from cryptography.exceptions import InvalidSignature

    ed25519, _ = _cryptography("load_pem_public_key")
    try:
        public = ed25519.Ed25519PublicKey.from_public_bytes(bytes.fromhex(receipt.public_key or ""))
        public.verify(bytes.fromhex(receipt.signature or ""), receipt._signed_bytes())
    except (ValueError, InvalidSignature):
        return False
    return True


def _cryptography(name: str) -> tuple[Any, Any]:
    try:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise OptionError("Signatures need cryptography: pip install 'tallybayes[sign]'.") from None
    return ed25519, getattr(serialization, name)


def _pem(key: object) -> bytes:
    if isinstance(key, bytes):
        return key
    if isinstance(key, str | os.PathLike):
        return Path(key).read_bytes()
    raise OptionError(f"A key is a path, bytes of PEM or an object of cryptography; got {type(key).__name__}.")


def _check_types(found: dict[str, Any]) -> None:
    optional = ("after", "key", "public_key", "signature")
    for name in ("time", "version", "estimator", "before", "memory", "guarantee", *optional):
        if not isinstance(found[name], str) and not (name in optional and found[name] is None):
            raise ReceiptError(f"This is no receipt: {name!r} is not text.")
    for name in ("remains", "residue"):
        if not isinstance(found[name], dict):
            raise ReceiptError(f"This is no receipt: {name!r} is no object.")
    hashes = found["hashes"]
    if not isinstance(hashes, list) or not all(isinstance(h, str) and len(h) == 64 for h in hashes):
        raise ReceiptError("This is no receipt: 'hashes' is no list of SHA-256.")
    for name in ("key", "public_key", "signature"):
        try:
            bytes.fromhex(found[name] or "")
        except ValueError:
            raise ReceiptError(f"This is no receipt: {name!r} is not hexadecimal.") from None
