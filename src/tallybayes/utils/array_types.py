"""The names of the arrays that the whole house passes about."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]  # of any type: labels, codes in the smallest type that holds them, columns as they came
Floats = NDArray[np.float64]
