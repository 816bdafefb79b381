"""Draws the pictures of docs/ anew: `make gallery`.

The page docs/gallery.md is the source. Its Python blocks run in order, and what a block leaves in `picture` is written
to the image that the page shows next. So the lines on the page are those that made the picture. `make docs` draws them
into the site.
"""

from __future__ import annotations

import io
import os
import re
import sys
import warnings
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from PIL import Image

DOCS = Path(__file__).parent.parent / "docs"
PIECE = re.compile(r"^```python\n(?P<code>.*?)^```$|^!\[[^\]]*\]\((?P<image>[^)]+\.png)\)$", re.MULTILINE | re.DOTALL)


def main(folder: Path) -> None:
    of_the_page(folder)
    sys.path.insert(0, str(Path(__file__).parent))
    import discriminants
    import ensemble
    import explain_person
    import networks

    write(discriminants.picture(), folder / "discriminants.png", 88)
    write(ensemble.picture(), folder / "ensemble.png", 88)
    write(networks.picture(), folder / "networks.png", 70)
    write(explain_person.figure, folder / "explain_person.png", 88)


def of_the_page(folder: Path) -> None:
    names: dict[str, Any] = {"__name__": "gallery"}
    for piece in PIECE.finditer((DOCS / "gallery.md").read_text(encoding="utf-8")):
        if piece["code"] is not None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                exec(compile(piece["code"], "docs/gallery.md", "exec", dont_inherit=True), names)
        else:
            write(names["picture"].figure_, folder.parent / piece["image"])


def write(figure: Figure, file: Path, dpi: int = 100) -> None:
    """As a PNG of 256 colours: a third of the size, and the eye does not see it."""
    page = io.BytesIO()
    figure.savefig(page, format="png", dpi=dpi)
    file.parent.mkdir(parents=True, exist_ok=True)
    whole = Image.open(page).convert("RGB")
    whole.quantize(256, Image.Quantize.MEDIANCUT, kmeans=8, dither=Image.Dither.NONE).save(file, optimize=True)
    print(f"{os.path.relpath(file)}: {file.stat().st_size / 1000:.0f} KB")


if __name__ == "__main__":
    main(DOCS / "images")
