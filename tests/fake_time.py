"""A clock that only sleeping moves."""

from dataclasses import dataclass, field


@dataclass
class FakeTime:
    """Stands in for the module `time` and, with `async_sleep`, for `asyncio.sleep`."""

    now: float = 1000.0
    pauses: list[float] = field(default_factory=list)

    def monotonic(self) -> float:
        """Seconds that were slept so far, and a start."""
        return self.now

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.pauses.append(seconds)
        self.now += seconds

    async def async_sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.sleep(seconds)
