"""Make the pages that follow from the code, or check that they are fresh: `python -m docs.generate [--check]`."""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from docs import formats, models
from docs import pages as config
from docs import pages as pipeline
from docs import pages as proof

PAGES: dict[str, Callable[[], str]] = {
    "config.md": config.config_page,
    "formats.md": formats.page,
    "models.md": models.page,
    "pipeline.md": pipeline.pipeline_page,
    "proof.md": proof.proof_page,
}


def main(arguments: Sequence[str] | None = None, folder: Path | None = None) -> int:
    """The exit status: 1 where `--check` finds a page that is not what the code says."""
    parser = argparse.ArgumentParser(prog="python -m docs.generate", description="Make the pages of tables in docs/.")
    parser.add_argument("--check", action="store_true", help="write nothing; name the pages that are stale")
    check = parser.parse_args(arguments).check
    folder = folder or Path(__file__).parent
    stale = [name for name, page in PAGES.items() if _bring(folder / name, page(), write=not check)]
    for name in stale:
        print(f"docs/{name} is stale; run: python -m docs.generate" if check else f"wrote docs/{name}")
    if not stale:
        print("docs: all made pages are fresh")
    return 1 if check and stale else 0


def _bring(path: Path, text: str, *, write: bool) -> bool:
    """Whether a page is not as it should be; then it is written, where asked for."""
    if path.is_file() and path.read_text("utf-8") == text:
        return False
    if write:
        path.write_text(text, "utf-8")
    return True


if __name__ == "__main__":
    sys.exit(main())
