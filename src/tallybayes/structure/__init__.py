"""Which columns depend on which: learned from information, or given.

A network is a list of parents for each column. To learn one in another way, write the choice as a function of mutual
information in search.py and an estimator whose `_learn_parents` returns the term with these parents (see kdb.py).
Counting, smoothing, scores, missing values, sampling, files and explanations follow.
"""
