"""One browser for all tests here; they skip where there is none."""

from collections.abc import Iterator

import pytest

from tests.browser.chromium import Browser, browser, unavailable


@pytest.fixture(scope="session")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """The browser."""
    reason = unavailable()
    if reason is not None:
        pytest.skip(reason)
    with browser(tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.fixture
def tab(opened: Browser) -> Browser:
    """The browser, as wide as a desk, with nothing noted yet."""
    for noted in (opened.complaints, opened.requests, opened.refused, opened.dialogs):
        noted.clear()
    opened.resize(1400, 900)
    return opened
