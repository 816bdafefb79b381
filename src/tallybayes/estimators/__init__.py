"""What users call: estimators and what is around them."""

import sys

standalone = False  # no scikit-learn in this process: see contract.py


def stand_alone() -> bool:
    """For a process that counts or answers and hands no model to scikit-learn, whose import takes longer than either.

    True if it does without from here on; False if it is too late: an estimator, or scikit-learn itself, is imported.
    """
    global standalone
    standalone = standalone or not {"sklearn", "tallybayes.estimators.contract"} & sys.modules.keys()
    return standalone
