"""A real Chromium without a window, driven over its own protocol through two pipes: no package, no port, no server."""

import fcntl
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from select import select
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
_PIPES = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.dup2(int(sys.argv[2]), 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
"""The browser reads commands from descriptor 3 and answers on 4."""
_LIMIT_S = 60.0
_ARGUMENTS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--no-first-run",
    "--remote-debugging-pipe",
)


class BrowserError(Exception):
    """The browser did not do as it was told."""


def unavailable() -> str | None:
    """Why there is no browser to test with; None where there is."""
    return None if _found() else f"there is no {' or '.join(NAMES)}; make test-browser installs one where it may"


def install() -> None:
    """Install Chromium by apt-get where it is missing and that is possible."""
    if _found() is None and shutil.which("apt-get") and os.geteuid() == 0:
        for command in (["update"], ["install", "--yes", "--no-install-recommends", "chromium"]):
            subprocess.run(["apt-get", "-q", *command], check=False, stdout=subprocess.DEVNULL)


class Browser:
    """One tab. What the page complains of, asks of the network or opens as a dialog is kept."""

    def __init__(self, commands: int, answers: int) -> None:
        self._commands, self._answers = commands, answers
        self._number = 0
        self._tab: dict[str, str] = {}
        self._buffer = b""
        self._urls: dict[str, str] = {}
        self.complaints: list[str] = []
        """Errors of the console, exceptions, breaches of the page's policy."""
        self.requests: list[str] = []
        """Addresses that the page asked for, itself included."""
        self.refused: list[str] = []
        """Those of them that its policy did not let it have."""
        self.dialogs: list[str] = []
        target = self.tell("Target.createTarget", url="about:blank")["targetId"]
        self._tab = {"sessionId": self.tell("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]}
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.tell(f"{domain}.enable")

    def tell(self, method: str, /, **parameters: Any) -> dict[str, Any]:
        """Send a command, and wait for its answer. Raises BrowserError."""
        number = self._send(method, parameters)
        while True:
            found = self._next()
            if found.get("id") == number:
                if "error" in found:
                    raise BrowserError(f"{method}: {found['error']['message']}")
                result: dict[str, Any] = found["result"]
                return result
            self._note(found)

    def open(self, path: Path, anchor: str = "") -> None:
        """Open a file anew, at an anchor with its `#` where one is given, and wait until it has been loaded."""
        self.tell("Page.navigate", url="about:blank")
        self.wait("location.protocol === 'about:'")
        self.tell("Page.navigate", url=path.as_uri() + anchor)
        self.wait("document.readyState === 'complete' && location.protocol === 'file:'")

    def ask(self, expression: str) -> Any:
        """The value of an expression in the page. Raises BrowserError where it throws."""
        found = self.tell("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in found:
            raise BrowserError(f"{expression}: {found['exceptionDetails']['exception']['description']}")
        return found["result"].get("value")

    def wait(self, expression: str) -> None:
        """Wait until an expression is true. Raises BrowserError."""
        until = time.monotonic() + _LIMIT_S
        while not self.ask(expression):
            if time.monotonic() > until:
                raise BrowserError(f"it never comes true: {expression}")
            time.sleep(0.02)

    def click(self, selector: str) -> None:
        """Scroll the element into view, and click in its middle with the mouse."""
        element = f"document.querySelector({json.dumps(selector)})"
        self.ask(f"{element}.scrollIntoView({{block: 'center', behavior: 'instant'}})")
        [x, y] = self.ask(
            f"(() => {{ const box = {element}.getClientRects()[0];"
            " return [box.x + box.width / 2, box.y + box.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.tell("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def type(self, selector: str, text: str) -> None:
        """Click into a field, and type."""
        self.click(selector)
        self.tell("Input.insertText", text=text)

    def resize(self, width: int, height: int) -> None:
        """Give the window another size."""
        self.tell("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def _send(self, method: str, parameters: dict[str, Any]) -> int:
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        os.write(self._commands, json.dumps({**message, **self._tab}).encode() + b"\0")
        return self._number

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            if not select([self._answers], [], [], _LIMIT_S)[0]:
                raise BrowserError(f"the browser says nothing for {_LIMIT_S:g} s")
            piece = os.read(self._answers, 1 << 20)
            if not piece:
                raise BrowserError("the browser has ended")
            self._buffer += piece
        line, _, self._buffer = self._buffer.partition(b"\0")
        found: dict[str, Any] = json.loads(line)
        return found

    def _note(self, event: dict[str, Any]) -> None:
        told = event.get("params", {})
        match event.get("method"):
            case "Runtime.exceptionThrown":
                self.complaints.append(str(told["exceptionDetails"]))
            case "Runtime.consoleAPICalled" if told["type"] in ("error", "warning", "assert"):
                self.complaints.append(str(told["args"]))
            case "Log.entryAdded" if told["entry"]["level"] in ("error", "warning"):
                self.complaints.append(told["entry"]["text"])
            case "Network.requestWillBeSent":
                self._urls[told["requestId"]] = told["request"]["url"]
                self.requests.append(told["request"]["url"])
            case "Network.loadingFailed" if told.get("blockedReason") == "csp":
                self.refused.append(self._urls[told["requestId"]])
            case "Page.javascriptDialogOpening":
                self.dialogs.append(told["message"])
                self._send("Page.handleJavaScriptDialog", {"accept": False})


@contextmanager
def browser(profile: Path) -> Iterator[Browser]:
    """A browser with an empty profile in this folder; it ends on leaving."""
    program = _found()
    if program is None:
        raise BrowserError(unavailable() or "")
    read_commands, commands = os.pipe()
    answers, write_answers = os.pipe()
    # Away from 3 and 4, which the browser's own ends are to become.
    ends = [_moved(read_commands), _moved(write_answers)]
    process = subprocess.Popen(
        [sys.executable, "-c", _PIPES, *map(str, ends), program, *_ARGUMENTS, f"--user-data-dir={profile}"],
        pass_fds=ends,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    for end in ends:
        os.close(end)
    try:
        yield Browser(commands, answers)
    finally:
        process.kill()
        process.wait()
        os.close(commands)
        os.close(answers)


def _found() -> str | None:
    return next((path for path in map(shutil.which, NAMES) if path), None)


def _moved(end: int) -> int:
    """The same pipe under a number above 9."""
    moved = fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(end)
    return moved


if __name__ == "__main__":
    install()
    print(unavailable() or "there is a browser")
