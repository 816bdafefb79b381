"""The documentation site: `make docs`. The pages are the Markdown files beside this one, which read well by themselves.

What the site has besides is written to docs/generated, which is never committed: a page for each public name, the
examples with their pictures, the pictures of the gallery, and the pages of the repository that docs/ links to.

The table of contents is that of the pages: a row of a table that begins with a link to a page puts the page below the
one that has the table (inventory.py). A page that no table names is found all the same, below the start page.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from shutil import copy, copytree, which
from typing import Any

from docutils import nodes
from pygments.lexers.special import TextLexer
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.highlighting import lexers

HERE = Path(__file__).parent
ROOT = HERE.parent
GENERATED = HERE / "generated"
sys.path[:0] = [str(HERE), str(ROOT / "examples")]

import inventory  # noqa: E402

import gallery  # noqa: E402
import tallybayes  # noqa: E402

project = "tallybayes"
author = copyright = "the tallybayes developers"
version = release = tallybayes.__version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "sphinx_copybutton",
]
exclude_patterns = ["templates", "static"]
templates_path = ["templates"]
default_role = "literal"  # `X` in a docstring
nitpicky = False
suppress_warnings = [
    "config.cache",  # the settings of sphinx-gallery are functions
    "ref.python",  # `sums` is an attribute of every distribution
]

# --- Markdown ----------------------------------------------------------------------------------------------------

myst_heading_anchors = 3  # as a code host makes them
myst_enable_extensions = ["dollarmath"]
myst_links_external_new_tab = True
lexers["csv"] = TextLexer()
copybutton_exclude = ".linenos, .gp, .go"  # a copied example is what was typed

# MathJax from the site itself, so that formulas need no other host; without the package, from its usual host.
MATHJAX = find_spec("sphinx-mathjax-offline")
if MATHJAX is not None:
    mathjax_path = "mathjax/tex-chtml.js"


def own_mathjax(app: Sphinx, error: Exception | None) -> None:
    """The one script in use and its fonts; the package has 48 MB of others."""
    if MATHJAX is None or MATHJAX.origin is None or error is not None:
        return
    source, target = Path(MATHJAX.origin).parent / "static" / "mathjax", Path(app.outdir) / "_static" / "mathjax"
    fonts = Path("output", "chtml", "fonts", "woff-v2")
    copytree(source / fonts, target / fonts, dirs_exist_ok=True)
    copy(source / "tex-chtml.js", target)


# --- docstrings --------------------------------------------------------------------------------------------------

autosummary_generate = True
SHARED = next(base for base in tallybayes.NaiveBayes.__mro__ if "forget" in vars(base))
autosummary_context = {  # templates/autosummary/class.rst: what all classifiers have stands once, on a page of its own
    "shared": f"{SHARED.__module__}.{SHARED.__name__}",
    "members_of": lambda module, name: inventory.members(getattr(importlib.import_module(module), name), SHARED),
}
autodoc_default_options = {"members": True, "inherited-members": True, "member-order": "groupwise"}
autodoc_typehints = "none"  # docstrings say them
numpydoc_show_class_members = False  # methods stand on the page of their class
numpydoc_class_members_toctree = False

# --- the examples, run ---------------------------------------------------------------------------------------------


def figures(_block: object, variables: dict[str, Any], _conf: object) -> str:
    """A scraper: what an example leaves in `figure` is drawn. (It is no figure of pyplot.)"""
    from sphinx_gallery.scrapers import figure_rst

    figure = variables["example_globals"].pop("figure", None)
    if figure is None:
        return ""
    path = next(variables["image_path_iterator"])
    figure.savefig(path, dpi=100)
    gallery.write(figure, GENERATED / "images" / f"{Path(variables['src_file']).stem}.png", 88)  # for the pages
    return str(figure_rst([path], variables["src_file"].rsplit("/", 1)[0]))


class Argv:
    """Examples write their plot to the given file, which is not used."""

    def __repr__(self) -> str:
        return "Argv"

    def __call__(self, *_: object) -> list[str]:
        return [os.path.join(tempfile.gettempdir(), "tallybayes-example.png")]


EXAMPLES = [
    "costs",
    "calibrated",
    "missing",
    "text_messages",
    "dates",
    "many_levels",
    "explain_person",
    "novelty",
    "deletion",
    "drift",
    "hospitals",
    "duckdb_in_place",
    "spark",
    "onnx_runtime",
    "ensemble",
    "bayes_rule",
    "discriminants",
    "networks",
    "demo",
]


def order(file: str) -> int:
    """Examples in the order of the guide; one that is not named comes last."""
    return EXAMPLES.index(Path(file).stem) if Path(file).stem in EXAMPLES else len(EXAMPLES)


sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "generated/examples",
    "filename_pattern": r"\.py$" if find_spec("pyspark") and which("java") else r"(?<!spark)\.py$",
    "ignore_pattern": r"gallery\.py$",  # it draws the pictures of docs/
    "image_scrapers": (figures,),
    "reset_argv": Argv(),
    "reset_modules": (),
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "capture_repr": (),  # what an example prints is enough
    "within_subsection_order": order,
    "min_reported_time": 1e9,  # no times: the machine that builds is nobody's
    "write_computation_times": False,
    "plot_gallery": os.environ.get("EXAMPLES", "1") != "0",
}

# --- the looks -----------------------------------------------------------------------------------------------------

html_theme = "pydata_sphinx_theme"
html_title = f"tallybayes {release}"
html_static_path = ["static"]
html_favicon = "static/icon.svg"  # a tally
html_css_files = ["site.css"]
html_copy_source = False
toc_object_entries_show_parents = "hide"  # fit(), not NaiveBayes.fit()
html_sidebars = {page: [] for page in ("index", "getting-started", "gallery", "generated/*")}  # pages with none below
html_show_sourcelink = False
html_context = {
    "default_mode": "auto",
    "in_chinese": sorted(inventory.in_chinese()),  # for templates/language-switch.html
}
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "navigation_depth": 2,
    "show_toc_level": 2,
    "navbar_end": ["language-switch", "theme-switcher", "navbar-icon-links"],
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}

# --- the table of contents, and links ------------------------------------------------------------------------------

BESIDES = {"CHANGELOG.md": "changelog", "CONTRIBUTING.md": "contributing", "bench/README.md": "benchmarks"}
DEFINED = re.compile(r"(\s*[\w*, ]+ : )?(.*)")  # a parameter or an attribute, and its type
LITERAL = re.compile(r"(``.*?``|`.*?`)")
ATTRIBUTE = re.compile(r"(?<![\w`.])((?:\w+\.)?[A-Za-z]\w*_)(?![\w`(])")
REPEATED = re.compile(r"( : ([^\n]+)\n(?:\s*\n)?\s+)\2: (\w)")
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?!\w+:)([^)#\s]*)(#[^)\s]*)?\)")


def toctree(pages: list[str]) -> str:
    return "\n\n```{toctree}\n:hidden:\n\n" + "\n".join(pages) + "\n```\n"


def relinked(text: str, place: Path) -> str:
    """A page of the repository as it stands in docs/generated: links to pages go there, others become their text."""

    def link(found: re.Match[str]) -> str:
        words, path, anchor = found[1], found[2], found[3] or ""
        if not path:
            return found[0]
        target = os.path.relpath((place.parent / path).resolve(), ROOT)
        if target in BESIDES:
            return f"[{words}]({BESIDES[target]}.md{anchor})"
        return f"[{words}](../{target[5:]}{anchor})" if target.startswith("docs/") else words

    return LINK.sub(link, text)


def read(_app: Sphinx, page: str, source: list[str]) -> None:
    """What the site adds to a page as it is read."""
    text = source[0]
    if page.startswith("generated/"):
        return
    for path, name in BESIDES.items():
        text = text.replace(f"](../{path}", f"](generated/{name}.md")
    text = re.sub(
        r"\]\(((?:\.\./)?)images/(?!growth/|report)", r"](\1generated/images/", text
    )  # growth: measured; report: a screenshot; neither is drawn by a build
    text = text.replace("](../examples)", "](generated/examples/index.rst)")
    text = re.sub(r"\]\(\.\./examples/(\w+)\.py\)", r"](generated/examples/\1.rst)", text)
    text = text.replace("*Every public name*", "[Every public name](generated/api/index.rst)")
    if page in inventory.CONTENTS:
        below = inventory.contents(page)
        if page == "index":
            below += [
                "generated/examples/index",
                *inventory.strays(),
                "zh/index",
                *(f"generated/{name}" for name in BESIDES.values()),
            ]
        elif page == "reference":
            below += ["generated/api/index"]
            text = text.replace("<!-- errors -->", inventory.errors())
        text += toctree(below)
    source[0] = text


def write(_app: Sphinx, config: Config) -> None:
    """docs/generated, before the pages are looked for."""
    (GENERATED / "api").mkdir(parents=True, exist_ok=True)
    lines = ["Every public name", "=================", "", "Each has a page with its parameters and an example.", ""]
    lines += ["Methods of every classifier", "---------------------------", ""]
    lines += [".. autosummary::", "   :toctree:", "   :nosignatures:", ""]
    lines += [f"   ~{SHARED.__module__}.{SHARED.__name__}", ""]
    modules = {heading: module for module, heading in inventory.PACKAGES.items()}
    for heading, names in inventory.groups().items():
        lines += [heading, "-" * len(heading), "", f"In ``{modules.get(heading, 'tallybayes')}``:", ""]
        lines += [".. autosummary::", "   :toctree:", "   :nosignatures:", ""]
        lines += [*(f"   ~{name}" for name in names), ""]
    (GENERATED / "api" / "index.rst").write_text("\n".join(lines), encoding="utf-8")
    for path, name in BESIDES.items():
        text = (ROOT / path).read_text(encoding="utf-8")
        (GENERATED / f"{name}.md").write_text(relinked(text, ROOT / path), encoding="utf-8")
    if config.sphinx_gallery_conf["plot_gallery"]:
        gallery.of_the_page(GENERATED / "images")


def names(app: Sphinx, tree: nodes.document) -> None:
    """In docs/reference.md a public name in the first cell of a row leads to its page."""
    if app.env.docname != "reference":
        return
    known = {name.rsplit(".", 1)[1]: name for group in inventory.groups().values() for name in group}
    for entry in tree.findall(nodes.entry):
        if entry.parent.index(entry) > 0:
            continue
        for literal in list(entry.findall(nodes.literal)):
            whole = known.get(re.split(r"\W", literal.astext().rsplit("(")[0].split(".")[-1])[0])
            if whole is not None and not isinstance(literal.parent, nodes.reference):
                link = pending_xref(
                    "", literal.deepcopy(), refdomain="py", reftype="obj", reftarget=whole, refdoc="reference"
                )
                literal.replace_self(link)


def attributes(_app: Sphinx, _what: str, _name: str, _thing: object, _options: object, lines: list[str]) -> None:
    """classes_ in a docstring is an attribute, as `help` shows it, and not a link, as reStructuredText has it."""
    for i, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            name, text = DEFINED.fullmatch(line).groups()  # type: ignore[union-attr]
            pieces = LITERAL.split(text)
            pieces[::2] = [ATTRIBUTE.sub(r"``\1``", piece) for piece in pieces[::2]]
            lines[i] = (name or "") + "".join(pieces)


def types(_app: Sphinx, _what: str, _name: str, _thing: object, _options: object, lines: list[str]) -> None:
    """A property begins with its type, which the list of attributes of its class has before it already."""
    text = REPEATED.sub(lambda found: found[1] + found[3].upper(), "\n".join(lines))
    lines[:] = text.split("\n")


def skip(_app: Sphinx, _what: str, _name: str, thing: object, skipped: bool, _options: object) -> bool | None:
    """Methods that other libraries define are documented there."""
    home = getattr(getattr(thing, "fget", thing), "__module__", None) or "tallybayes"
    return True if not skipped and not home.startswith("tallybayes") else None


def setup(app: Sphinx) -> None:
    app.connect("config-inited", write)
    app.connect("source-read", read)
    app.connect("doctree-read", names)
    app.connect("build-finished", own_mathjax)
    app.connect("autodoc-process-docstring", attributes, priority=1)  # before numpydoc
    app.connect("autodoc-process-docstring", types, priority=900)  # after numpydoc
    app.connect("autodoc-skip-member", skip)
