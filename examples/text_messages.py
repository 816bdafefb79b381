"""
Spam from raw text
==================

A text column is modelled as a bag of words, together with the other columns. No vectoriser is needed, and the words
with most evidence for a class can be listed.
"""

# %%
import pandas as pd
from matplotlib.figure import Figure

from tallybayes import NaiveBayes

SPAM = [
    "win a free prize now, claim your reward today", "free entry in our weekly cash prize draw, text now",
    "urgent: your account won a free holiday, call now", "cheap loans approved today, reply now to claim",
    "congratulations, you have won cash, claim it now", "free ringtones, reply to this text now",
    "your prize is waiting, call this number to claim", "limited offer: free phone, claim your prize",
]  # fmt: skip
HAM = [
    "are we still meeting for lunch today", "please send me the report when you have time",
    "i will call you after the meeting", "thanks for your help with the report yesterday",
    "the train is late, see you at seven", "can you buy milk on your way home",
    "happy birthday, see you at the party", "lunch at noon, or shall we meet later",
]  # fmt: skip
X = pd.DataFrame({"message": SPAM + HAM, "link": ["yes"] * 5 + ["no"] * 3 + ["yes"] + ["no"] * 7})
y = ["spam"] * len(SPAM) + ["ham"] * len(HAM)

# %%
model = NaiveBayes(schema={"message": "text", "link": "categorical"}).fit(X, y)
new = pd.DataFrame(
    {"message": ["claim your free lunch now", "see you at lunch after the report"], "link": ["yes", "no"]}
)
for text, label, proba in zip(new["message"], model.predict(new), model.predict_proba(new).max(axis=1), strict=True):
    print(f"{text!r}: {label}, P = {proba:.3f}")

# %%
# The words with the largest log-odds.
words = sorted({word.strip(",:") for text in SPAM + HAM for word in text.split()})
alone = pd.DataFrame({"message": words, "link": [None] * len(words)})
odds = pd.Series(model.predict_log_proba(alone) @ [-1, 1], index=words).sort_values()
shown = pd.concat([odds.head(8), odds.tail(8)])
figure = Figure(figsize=(6, 4.5), layout="constrained")
axis = figure.subplots()
axis.barh(shown.index, shown, color=["tab:blue" if value < 0 else "tab:red" for value in shown])
axis.set_xlabel("log-odds of spam for a message of this one word")
