"""Pages as a browser takes them: their elements, whether these are closed, and what they may load."""

from html.parser import HTMLParser
from pathlib import Path

HOSTILE = "</script><script>document.title='owned'</script><img src=x onerror=alert(1)><!-- {{7*7}} &amp; \u2028\u202e"
VOID = ("meta", "br", "wbr")
SVG = ("rect", "path", "circle", "polyline", "text", "title")


class Page(HTMLParser):
    """A page; reading it fails where an element is not closed in its turn."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.text = file.read_text("utf-8")
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.words: list[str] = []
        self._open: list[str] = []
        self.feed(self.text)
        self.close()
        assert self._open == []

    @property
    def shown(self) -> str:
        """All text, styles aside."""
        return "".join(self.words)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in SVG
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self._open
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open[-1:] != ["style"]:
            self.words.append(data)


def require_inert(page: Page) -> None:
    """Fail where a page has scripts, handlers or anything from elsewhere, or shows characters that turn text around."""
    assert not {"script", "img", "iframe", "link", "object"} & {*page.tags}
    names = {name for name, _ in page.attributes}
    assert not {"src", "style"} & names
    assert not [name for name in names if name.startswith("on")]
    assert [value for name, value in page.attributes if name == "href" and not (value or "").startswith("#")] == []
    assert "\u202e" not in page.text
    [policy] = [
        value for _, value in page.attributes if value and value.startswith("default-src 'none'; style-src 'sha256-")
    ]
    assert "script-src" not in policy
