"""What every point needs, imported once. No thread may start here: what does the work is forked from it."""

# ruff: noqa: F401
import numpy as np
import pandas as pd
import sklearn.discriminant_analysis
import sklearn.naive_bayes
import threadpoolctl

import tallybayes.io
from tallybayes import estimators

from . import measure
