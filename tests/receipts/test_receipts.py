"""Deletion receipts: what they say holds, and what was changed in them is found."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from cryptography.hazmat.primitives.asymmetric import ed25519
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from tallybayes import (
    TAN,
    BayesClassifier,
    GaussianDiscriminant,
    GaussianNB,
    KernelNB,
    NaiveBayes,
    RegularizedDiscriminantAnalysis,
    from_bytes,
    load,
    save,
    to_bytes,
)
from tallybayes.datasets import load_watermelon
from tallybayes.errors import ForgetError, LabelError, OptionError, ReceiptError
from tallybayes.receipts import Receipt, RemovedRows, fingerprint
from tests.command_line import WATERMELON, answer, run

ROWS, RIPE = load_watermelon()
ROW = {"color": "lighthouse keeper", "density": 0.987654321}


@pytest.fixture(scope="module")
def key():
    return ed25519.Ed25519PrivateKey.generate()


@pytest.fixture
def model():
    return NaiveBayes("gaussian").fit([*ROWS, ROW], [*RIPE, "no"])


def test_a_receipt_states_what_holds(model):
    other = model.copy().forget([ROW], ["no"])
    before = fingerprint(model)
    receipt = model.forget([ROW], ["no"], receipt=True)
    assert (receipt.before != before, receipt.after) == (True, fingerprint(model))
    assert fingerprint(model) == fingerprint(other) != before
    assert receipt.problems(model) == []
    assert receipt.estimator == "NaiveBayes"
    assert len(receipt.hashes) == 1
    assert receipt.residue["searched"] == 2


@pytest.mark.parametrize("memory", ["rows", "sums"])
def test_no_guess_of_the_removed_row_can_be_checked_by_receipt_and_model(memory):
    """Without the key: the model learns each guess, and no hash in the receipt says which gives the model before."""
    rng = np.random.default_rng(0)
    sex, smoker = (rng.choice(list(of), 60).tolist() for of in ("fm", "yn"))
    X = [{"sex": s, "smoker": k} for s, k in zip(sex, smoker, strict=True)]
    y = rng.choice(["ill", "well"], 60).tolist()
    model = NaiveBayes(memory=memory).fit(X, y)
    before = fingerprint(model)
    text = model.forget(X[7:8], y[7:8], receipt=True).to_json()
    guesses = [({"sex": s, "smoker": k}, label) for s in "fm" for k in "yn" for label in ("ill", "well")]
    found = {fingerprint(model.copy().partial_fit([row], [label])): (row, label) for row, label in guesses}
    assert memory == "sums" or found[before] == (X[7], y[7])  # a guess can be right
    assert before not in text
    assert not any(each in text for each in found)


def test_a_receipt_goes_through_json_without_its_key(model):
    receipt = model.forget([ROW], ["no"], receipt=True)
    assert Receipt.from_json(receipt.to_json(key=True)) == receipt
    sealed = Receipt.from_json(receipt.to_json())
    assert sealed == replace(receipt, key=None)
    assert receipt.key not in receipt.to_json()
    for value in ("lighthouse", "0.98765"):
        assert value not in receipt.to_json(key=True)
    with pytest.raises(ReceiptError, match="does not have the key"):
        sealed.covers(model, [ROW], ["no"])


def test_rows_are_hashed_whatever_table_they_come_in(model):
    receipt = model.forget([ROW], ["no"], receipt=True)
    frame = pd.DataFrame([ROW])[["density", "color"]]
    assert receipt.covers(model, frame, np.array(["no"]))
    assert receipt.covers(model, [{**ROW, "sugar": None, "root": float("nan")}], ["no"])
    assert not receipt.covers(model, [ROW], ["yes"])
    assert not receipt.covers(model, [ROW], ["no"], [2.0])
    assert not receipt.covers(model, [ROW, ROW], ["no", "no"])
    assert not receipt.covers(model, [{**ROW, "density": 0.98765432}], ["no"])


def test_hashes_need_the_key():
    schema = GaussianNB().fit([[1.0], [8.0]], ["a", "b"]).schema_
    one, two, same = RemovedRows(), RemovedRows(), RemovedRows(bytes(32))
    for rows in (one, two, same):
        rows.add(schema, [[1]], ["a"])
    again = RemovedRows(bytes(32))
    again.add(schema, np.array([[1.0]]), pd.Series(["a"]))
    assert one.hashes != two.hashes  # two receipts cannot be linked by a row
    assert again.hashes == same.hashes
    with pytest.raises(OptionError, match="16 bytes"):
        RemovedRows(b"short")


def test_a_signature_covers_everything_but_the_key(model, key):
    receipt = model.forget([ROW], ["no"], receipt=True).signed(key)
    public = key.public_key()
    pem = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    assert receipt.problems(model, public_key=pem) == []
    assert replace(receipt, key=None).problems(public_key=receipt.public_key) == []
    other = ed25519.Ed25519PrivateKey.generate()
    assert "another key" in receipt.signed(other).problems(public_key=pem)[0]
    assert receipt.problems(public_key="0" * 64) == ["It is signed with another key than the one given."]
    document = json.loads(receipt.to_json())
    for name, value in document.items():
        if name in ("receipt", "key", "signature", "public_key"):
            continue
        changed = {**document, name: [*value, "0" * 64] if isinstance(value, list) else {"x": "y"}}
        if isinstance(value, str):
            changed[name] = value + "0"
        assert Receipt.from_json(json.dumps(changed)).problems(), name
    assert replace(receipt, signature=None).problems(public_key=pem) == ["It is not signed."]


def test_a_key_that_is_none_is_refused(model, tmp_path, key):
    receipt = model.forget([ROW], ["no"], receipt=True)
    (tmp_path / "key.pem").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    assert receipt.signed(tmp_path / "key.pem").problems() == []
    with pytest.raises(OptionError, match="no Ed25519 private key"):
        receipt.signed(b"-----BEGIN NOTHING-----")
    with pytest.raises(OptionError, match="got int"):
        receipt.signed(3)


def test_a_receipt_names_what_a_discriminant_chose():
    X, y = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 2
    for model in (GaussianDiscriminant(own_covariance="auto"), RegularizedDiscriminantAnalysis()):
        receipt = model.fit(X, y).forget(X[:2], y[:2], receipt=True)
        assert any("own_covariance" in choice for choice in receipt.remains)


def test_the_model_is_recognised(model):
    before = model.copy()
    receipt = model.forget([ROW], ["no"], receipt=True)
    assert "still in it" in receipt.problems(before)[0]
    assert "only a receipt with its key can tell" in Receipt.from_json(receipt.to_json()).problems(before)[0]
    assert "neither" in receipt.problems(model.copy().partial_fit(ROWS[:1], RIPE[:1]))[0]
    assert "is a GaussianNB" in receipt.problems(GaussianNB().fit([[1.0], [8.0]], ["a", "b"]))[0]


def test_what_a_plan_chose_is_renewed_by_a_new_plan():
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = np.repeat(["ill", "well"], 30)
    site = from_bytes(to_bytes(NaiveBayes("frequency").fit(X[::2], y[::2]).empty())).partial_fit(X[1::2], y[1::2])
    receipt = site.forget(X[1:2], y[1:2], receipt=True)  # a row that the plan has never met
    assert "new plan" in receipt.remains["bins"]
    assert "may have been chosen with the removed rows" in receipt.guarantee
    assert site.provenance_["bins"].forgotten is None
    assert "plan" not in site.relearn(X[3::2], y[3::2]).provenance_["bins"].renew


def test_a_search_for_nothing_says_so():
    model = GaussianNB().fit([[1.0], [2.0], [8.0], [9.0]], ["a", "a", "b", "b"])
    receipt = model.forget([[1.0]], ["a"], receipt=True)
    assert receipt.residue["searched"] == 0
    assert receipt.residue["note"].startswith("Nothing was searched")
    assert Receipt.from_json(receipt.to_json()).residue == receipt.residue


@pytest.mark.parametrize("y", [["yes", "no"], ["no", "no", "no"], ["never"], ["no"]])
def test_a_refusal_changes_nothing(model, y):
    before = fingerprint(model)
    with pytest.raises((ForgetError, LabelError, OptionError)):
        model.forget([{"color": "never seen"}], y, receipt=True)
    assert fingerprint(model) == before


def test_residue_is_found_where_there_is_some():
    rows = [{"color": "dark"}, {"color": "lighthouse keeper"}, {"color": "pale"}]
    model = NaiveBayes().fit(rows, ["a", "b", "a"])
    removed = RemovedRows()
    removed.add(model.schema_, rows[1:], ["b", "a"])
    from tallybayes.receipts.residue import residue

    assert residue(model, removed) == {"searched": 2, "found": {}, "shared": 2}  # rows that are still there have them
    kept = KernelNB().fit([[float(i)] for i in range(50)] + [[1234.56789]], [0, 1, 0] * 17)
    removed = RemovedRows()
    removed.add(kept.schema_, [[1234.56789]], [0])
    assert residue(kept, removed)["found"] == {"x0": 1}  # it still has the value
    assert residue(kept.forget([[1234.56789]], [0]), removed)["found"] == {}


@pytest.mark.parametrize("memory", ["rows", "sample"])
def test_values_of_rows_that_the_model_keeps_are_shared_not_found(memory):
    """The rows are compressed in the file: words that remaining rows have stand in it by chance, or do not."""
    note = ["the quick brown fox jumps over dogs", "every lazy day in summer", "Quick thinking saves the summer"]
    rows = [{"note": note[i % 3], "pay": 1000.125 + i % 5, "job": "clerk"} for i in range(60)]
    rows[7] = {"note": "quick secretword summer", "pay": 98765.4321, "job": "lighthouse keeper"}
    rows[8] = {"note": "quick summer", "pay": 1001.125, "job": "clerk"}
    model = NaiveBayes({"note": "words"}, memory=memory).fit(rows, ["a", "b"] * 30)
    receipt = model.forget(rows[7:9], ["b", "a"], receipt=True)
    assert receipt.residue == {"searched": 7, "found": {}, "shared": 4}  # quick, summer, clerk, 1001.125
    column = model._rows.columns[-1]
    left = replace(column, labels=(*column.labels, "lighthouse keeper"))  # a label that no row has
    model.__dict__["_rows"] = replace(model._rows, columns=(*model._rows.columns[:-1], left))
    removed = RemovedRows()
    removed.add(model.schema_, rows[7:8], ["b"])
    from tallybayes.receipts.residue import residue

    assert residue(model, removed)["found"] == {"job": 1}


RDA = RegularizedDiscriminantAnalysis


@pytest.mark.parametrize("kind", [NaiveBayes, TAN, BayesClassifier, RDA, GaussianDiscriminant])
def test_what_was_chosen_is_listed(kind):
    X, y = pd.DataFrame({"x": np.arange(60.0), "z": np.arange(60) % 7 * 1.5}), np.arange(60) // 20
    remains = kind().fit(X, y).forget(X[:1], y[:1], receipt=True).remains
    assert "column kinds" in remains
    wanted = {TAN: {"bins", "network structure"}, BayesClassifier: {"bins"}, RDA: {"own_covariance and shrinkage"}}
    assert wanted.get(kind, set()) <= set(remains)
    if kind is TAN:
        assert remains["network structure"].startswith("relearn")


def test_the_last_rows_can_be_forgotten_with_a_receipt():
    model = GaussianNB().fit([[1.0], [8.0]], ["a", "b"])
    receipt = model.forget([[1.0], [8.0]], ["a", "b"], receipt=True)
    assert receipt.after is None
    assert receipt.problems(model) == []


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"receipt": 2}', '{"receipt": 1}', b"\xff"])
def test_what_is_no_receipt_is_refused(text):
    with pytest.raises(ReceiptError, match="no receipt"):
        Receipt.from_json(text)


def test_a_receipt_with_wrong_types_is_refused(model):
    document = json.loads(model.forget([ROW], ["no"], receipt=True).to_json())
    for name in document:
        with pytest.raises(ReceiptError, match="no receipt"):
            Receipt.from_json(json.dumps({**document, name: 3.5}))


def test_forget_from_is_forget(tmp_path):
    frame = pd.read_csv(WATERMELON)
    target = frame.columns[-1]
    model = NaiveBayes("gaussian").fit(frame.drop(columns=target), frame[target])
    part = frame[:5]
    part.to_csv(tmp_path / "part.csv", index=False)
    plain = model.copy().forget(part.drop(columns=target), part[target])
    assert fingerprint(model.copy().forget_from(tmp_path / "part.csv", target)) == fingerprint(plain)
    receipt = model.forget_from(tmp_path / "part.csv", target, receipt=True)
    assert receipt.problems(model) == []
    assert receipt.covers(model, part.drop(columns=target), part[target])
    before = fingerprint(model)
    with pytest.raises(ForgetError):
        model.forget_from(tmp_path / "part.csv", target)
    assert fingerprint(model) == before


def test_forget_from_a_database():
    import sqlite3

    connection = sqlite3.connect(":memory:")
    frame = pd.DataFrame({"sky": ["grey", "clear", "red"], "wind": [2.0, 9.5, 3.0], "go": ["yes", "no", "yes"]})
    frame[:1].to_sql("days", connection, index=False)
    model = NaiveBayes("gaussian").fit(frame[["sky", "wind"]], frame["go"])
    assert model.forget_from((connection, "days"), "go").class_count_.tolist() == [1.0, 1.0]


def test_the_command_leaves_nothing_of_a_row(tmp_path):
    model, rows, part = (tmp_path / n for n in ("m.tb", "rows.csv", "part.csv"))
    frame = pd.DataFrame({"age": np.arange(40) % 17 + 20.0, "job": ["clerk", "nurse"] * 20, "y": ["a", "b"] * 20})
    frame.loc[7, ["age", "job"]] = [123.456789, "lighthouse keeper"]
    frame.to_csv(rows, index=False)
    frame[7:8].to_csv(part, index=False)
    for estimator in ("BayesClassifier", "NaiveBayes", "TAN"):
        run("fit", rows, "-t", "y", "-o", model, "-m", estimator)
        assert b"lighthouse keeper" in model.read_bytes()
        run("forget", model, part)
        left = model.read_bytes()
        for bits in (b"lighthouse", b"123.456789", np.float64(123.456789).tobytes()):
            assert bits not in left, (estimator, bits)


def test_the_command_writes_and_checks_receipts(tmp_path, key):
    model, receipt, rows, pem = (tmp_path / n for n in ("m.tb", "r.json", "rows.csv", "key.pem"))
    pem.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    target = pd.read_csv(WATERMELON).columns[-1]
    pd.read_csv(WATERMELON)[:4].to_csv(rows, index=False)
    run("fit", WATERMELON, "-t", target, "-o", model)
    old = model.read_bytes()
    run("forget", model, rows, "--receipt", receipt, "--sign", tmp_path / "none.pem", code=1)
    assert model.read_bytes() == old
    run("forget", model, rows, "--receipt", receipt, "--sign", pem, "--receipt-key")
    public = Receipt.from_json(receipt.read_text()).public_key
    found = answer("forget", "--verify", receipt, model, rows, "--public-key", public)
    assert found["rows"] == 4
    assert answer("forget", "--verify", receipt)["public_key"] == public
    assert "another key" in run("forget", "--verify", receipt, "--public-key", "0" * 64, code=1).stderr
    assert "Not all" in run("forget", "--verify", receipt, model, WATERMELON, code=1).stderr
    save(load(model).partial_fit(ROWS[:1], RIPE[:1]), model, notes={"target": target})
    assert "neither" in run("forget", "--verify", receipt, model, code=1).stderr
    run("forget", model, code=2)
    run("forget", model, rows, "--sign", pem, code=2)
    run("forget", "--verify", receipt, "--receipt", receipt, code=2)
