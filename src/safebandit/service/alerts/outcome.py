"""An attempt to send a message that failed."""

from __future__ import annotations


class FailedError(Exception):
    """What a receiver said, or why it was not reached; `final`: it never wants to hear of it again."""

    def __init__(self, said: str, *, final: bool = False) -> None:
        super().__init__(" ".join(said.split()))
        self.final = final
