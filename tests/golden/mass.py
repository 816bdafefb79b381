"""Asks R's MASS again: python -m tests.golden.mass (R with MASS has to be there; the tests only read the answers)."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

HERE = Path(__file__).parent
TABLES = {"iris": load_iris, "wine": load_wine, "breast_cancer": load_breast_cancer}


def main() -> None:
    with TemporaryDirectory() as folder:
        for name, load in TABLES.items():
            X, y = load(return_X_y=True)
            rows = [",".join(float(v).hex() for v in row) for row in np.column_stack([X, y])]  # R reads these exactly
            header = ",".join([f"x{j}" for j in range(X.shape[1])] + ["class"])
            Path(folder, f"{name}.csv").write_text("\n".join([header, *rows]) + "\n", encoding="ascii")
        said = subprocess.run(["Rscript", HERE / "mass.R", folder], check=True, capture_output=True, text=True).stdout
    json.loads(said)
    (HERE / "mass.json").write_text(said, encoding="utf-8")


if __name__ == "__main__":
    main()
