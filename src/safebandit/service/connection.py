"""Requests to a service, sent again where that is safe, for as long as there is patience.

By hand: the retries of `stamina` end after the time that is given, not before it, so that they would sleep through a
Retry-After that is longer than the patience.
"""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from safebandit import errors
from safebandit.errors import AccessError, ConflictError, NotFoundError, RecordError, SafebanditError, TrialError

# Waits between attempts double from the first of these to the second, and each is shortened at random.
FIRST_WAIT, LONGEST_WAIT = 0.05, 5.0
_BUSY = (502, 503, 504)


class Connection:
    """One service, and the key that it is shown."""

    def __init__(self, url: str, key: str, *, patience: float, transport: Any = None) -> None:
        try:
            import httpx
        except ModuleNotFoundError:
            raise RecordError('safebandit.Client needs more packages: pip install "safebandit[live]"') from None
        # A header would be refused with its content in the message.
        if not re.fullmatch(r"[!-~]+", str(key)):
            raise AccessError("a key is a text such as sb_..., as `safebandit key new` prints it; got something else")
        if not re.fullmatch(r"https?://[^@\s?#]+", url):
            raise RecordError("url must be a service's address such as http://127.0.0.1:8000, got something else")
        self.url = url.rstrip("/")
        self.patience = patience
        self._errors = httpx.TransportError
        # What fails so was never sent.
        self._unsent: tuple[type[Exception], ...] = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
        self._http = httpx.Client(
            base_url=self.url, headers={"Authorization": f"Bearer {key}"}, timeout=patience, transport=transport
        )

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    def get(self, path: str, parameters: Mapping[str, Any] | None = None) -> Any:
        """Get what a path holds."""
        return self._request("GET", path, repeatable=True, params=parameters)

    def post(self, path: str, body: Mapping[str, Any], *, repeatable: bool = True) -> Any:
        """Send a body to a path; `repeatable` says that sending it twice does no more than sending it once."""
        content = _as_json(body).encode()
        return self._request(
            "POST", path, repeatable=repeatable, content=content, headers={"Content-Type": "application/json"}
        )

    def delete(self, path: str) -> Any:
        """Take away what a path holds; again changes nothing."""
        return self._request("DELETE", path, repeatable=True)

    def _request(self, method: str, path: str, *, repeatable: bool, **content: Any) -> Any:
        deadline = time.monotonic() + self.patience
        longest = FIRST_WAIT
        problem: SafebanditError
        while True:
            left = max(deadline - time.monotonic(), 0.001)
            asked = 0.0
            try:
                response = self._http.request(method, path, timeout=left, **content)
            except self._errors as failure:
                problem = self._unreached(failure, repeatable)
                if not (repeatable or isinstance(failure, self._unsent)):
                    raise problem from None
            else:
                # What was refused as too frequent was not begun.
                if not (response.status_code == 429 or (repeatable and response.status_code in _BUSY)):
                    return self._read(response)
                problem, asked = _problem(response), _seconds(response.headers.get("retry-after", ""))
            # Half of the wait is random, so that many clients do not come back together.
            wait = max(asked, longest * random.uniform(0.5, 1.0))
            longest = min(2 * longest, LONGEST_WAIT)
            if time.monotonic() + wait > deadline:
                raise problem from None
            time.sleep(wait)

    def _unreached(self, failure: Exception, repeatable: bool) -> RecordError:
        said = f"the service at {self.url} does not answer ({type(failure).__name__}: {failure})"
        if repeatable or isinstance(failure, self._unsent):
            return RecordError(f"{said}; check the address, and that it runs")
        return RecordError(f"{said}, and may have done what was asked; look at the trial's log before asking again")

    def _read(self, response: Any) -> Any:
        if response.is_success:
            try:
                return response.json()
            except ValueError:
                raise RecordError(f"{self.url} does not answer as safebandit does; check the address") from None
        raise _problem(response)


def _as_json(body: Mapping[str, Any]) -> str:
    """A body as it is sent; NumPy's numbers are numbers there, too."""
    try:
        return json.dumps(body, default=_plain, allow_nan=False, separators=(",", ":"))
    except TrialError:
        raise
    except ValueError:
        raise TrialError("a number that is sent must be finite, got nan or inf; leave out what is not known") from None


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TrialError(f"what is sent are texts, numbers and lists of them, got {value!r}")


def _seconds(text: str) -> float:
    return float(text) if text.isdigit() else 0.0


def _problem(response: Any) -> SafebanditError:
    """The error that the service met, of the same class, with its message."""
    try:
        said = response.json()
        name, message = str(said["error"]), str(said["message"])
    except (ValueError, KeyError, TypeError):
        return RecordError(f"the address answered with status {response.status_code}, but not as safebandit does")
    kind = getattr(errors, name, None)
    if isinstance(kind, type) and issubclass(kind, SafebanditError):
        return kind(message)
    by_status = {401: AccessError, 403: AccessError, 404: NotFoundError, 409: ConflictError}
    other = RecordError if response.status_code >= 500 or response.status_code == 429 else TrialError
    return by_status.get(response.status_code, other)(message)
