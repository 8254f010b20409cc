"""The proxy that a request goes through, by the variables of the environment. Every client of the project asks here.

A request to this machine goes through none, whatever the variables say. All others obey them: the variable of the
address's scheme comes before `all_proxy`, lower case before upper case, and `no_proxy` excepts hosts.
"""

import ipaddress
import os
import re
from typing import NamedTuple
from urllib.parse import urlsplit
from urllib.request import OpenerDirector, ProxyHandler, build_opener, getproxies

from skillweave.base.errors import ConfigError

KINDS = ("http", "https")
"""Schemes of proxies that our transports speak. None speaks SOCKS without a further library."""
LOOPBACK = "127.0.0.1,::1,localhost"
"""This machine, as `no_proxy` has it, for libraries that read the variables by themselves."""
SHOWN = 200
"""Characters of a value that an error shows."""


class Proxy(NamedTuple):
    """A proxy that a variable names."""

    url: str
    """It may hold a password: `str` of the proxy does not."""
    variable: str

    def __str__(self) -> str:
        """`the proxy http://host:port of http_proxy`."""
        parts = urlsplit(self.url)
        return f"the proxy {parts.scheme}://{parts.netloc.rpartition('@')[2]} of {self.variable}"


def proxy_for(url: str) -> Proxy | None:
    """The proxy for requests to an address; None if they go straight there.

    Raises:
        ConfigError: The variable's value is no address of a proxy, or of one that we do not speak to.
    """
    target = urlsplit(url)
    host = target.hostname or ""
    if is_this_machine(host):
        return None
    values = getproxies()
    name = target.scheme if values.get(target.scheme) else "all"
    value = values.get(name)
    port = target.port or (443 if target.scheme == "https" else 80)
    if not value or any(_covers(entry, host, port) for entry in values.get("no", "").split(",")):
        return None
    variable = f"{name}_proxy"
    variable = variable if os.environ.get(variable) else variable.upper()
    if variable not in os.environ:
        variable = "the system's settings"  # of macOS, which count if no variable is set
    return Proxy(_checked(value.strip(), variable), variable)


def opener_for(url: str) -> OpenerDirector:
    """What opens an address of Python's own HTTP client. Raises ConfigError as `proxy_for`."""
    proxy = proxy_for(url)
    return build_opener(ProxyHandler({} if proxy is None else dict.fromkeys(KINDS, proxy.url)))


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    address = _address(host)
    return _is_localhost(host) if address is None else address.is_loopback


def is_this_machine(host: str) -> bool:
    """Whether a request to a host stays on this machine. The addresses 0.0.0.0 and :: lead here, too."""
    address = _address(host)
    return is_loopback(host) or (address is not None and address.is_unspecified)


def _is_localhost(host: str) -> bool:
    name = host.lower().rstrip(".")
    return name == "localhost" or name.endswith(".localhost")


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The address that a host is written as; None if it is a name."""
    try:
        address = ipaddress.ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


def _covers(entry: str, host: str, port: int) -> bool:
    """Whether an entry of `no_proxy` excepts a host: `*`, a name, the end of names, an address, or a network."""
    entry, host = entry.strip().lower(), host.lower().rstrip(".")
    if entry == "*":
        return True
    network = None
    if host_port := re.fullmatch(r"(\[[^]]*\]|[^:]*):(\d+)", entry):
        if int(host_port[2]) != port:
            return False
        entry = host_port[1]
    try:
        network = ipaddress.ip_network(entry.strip("[]"), strict=False)
    except ValueError:
        name = entry.removeprefix("*").lstrip(".")
        return bool(name) and (host == name or host.endswith(f".{name}"))
    address = _address(host)
    return address is not None and address.version == network.version and address in network


def _checked(value: str, variable: str) -> str:
    """The address of a proxy, with its scheme. Raises ConfigError, which shows no password."""
    url = value if "://" in value else f"http://{value}"
    shown = re.sub(r"^([\w+.-]*:/*)?.*@", r"\1***@", value)[:SHOWN]
    instead = f"set {variable} to one such as http://proxy.example:3128, unset it, or except the host with no_proxy"
    try:
        parts = urlsplit(url)
        has_port = parts.port is None or parts.port > 0
        ends = parts.path in ("", "/") and not parts.query and not parts.fragment
        is_whole = bool(parts.hostname) and has_port and ends and url.isprintable() and url.split() == [url]
    except ValueError:
        is_whole = False
    if is_whole and parts.scheme not in KINDS:
        raise ConfigError(
            f"{variable} is {shown!r}, and proxies of the kind {parts.scheme!r} cannot be used; {instead}"
        )
    if not is_whole:
        raise ConfigError(f"{variable} is {shown!r}, which is no address of a proxy; {instead}")
    return url
