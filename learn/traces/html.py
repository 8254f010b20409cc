"""The pages of `learn`: each one HTML file that needs no server, no network and no script.

All foreign text is hostile. It goes through the templates' escaping, after control characters have become visible, and
the page's content security policy allows its own style, named by digest, and nothing else. A template, or a style, is
named by its package: `learn.traces/traces.html`. The styles of the evaluator's report come first in every page.
"""

from base64 import b64encode
from collections.abc import Sequence
from functools import cache, partial
from hashlib import sha256
from importlib.resources import files

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from evaluator.report.conversation import visible
from skillweave.base.command import percent

STYLES = ("evaluator.report/report.css", "learn.traces/pages.css")
"""What all pages look like."""
LONGEST_TEXT = 2_000
"""Characters of a text that a page shows, if the template does not say another number."""


def render_page(template: str, styles: Sequence[str] = (), **values: object) -> bytes:
    """A page, from its template.

    Args:
        template: Its name.
        styles: Names of styles of its own.
        values: What the template shows.
    """
    style = "\n".join(map(_text, [*STYLES, *styles]))
    digest = b64encode(sha256(style.encode()).digest()).decode()
    security = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    made = _environment().get_template(template).render(style=Markup(style), security=security, **values)
    return made.encode("utf-8", "backslashreplace")


@cache
def _environment() -> Environment:
    environment = Environment(
        undefined=StrictUndefined,
        loader=FunctionLoader(_text),
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=True,
        finalize=_seen,
    )
    environment.filters["percent"] = partial(percent, sign=" %")
    environment.filters["cut"] = cut
    environment.filters["breakable"] = _breakable
    return environment


def _text(name: str) -> str:
    package, _, file = name.partition("/")
    return (files(package) / file).read_text("utf-8")


def _seen(value: object) -> object:
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def cut(text: str, most: int = LONGEST_TEXT) -> str:
    """The first characters of a text, and how many more there are."""
    rest = len(text) - most
    return text if rest <= 0 else f"{text[:most]}\n[{rest:,} more characters]"


def _breakable(name: str) -> Markup:
    """A name that may be broken at its underscores."""
    return Markup("_<wbr>").join(visible(name).split("_"))
