"""A network that can be cut: a proxy of TCP connections on the loopback."""

import contextlib
import socket
import threading
from types import TracebackType
from typing import Self


class CutNetwork:
    """Passes connections on to a port, until it is cut.

    Args:
        port: of the server.

    Attributes:
        address: where to connect instead.
        late: the next data with these bytes are held until `catch_up`; none if empty.
        holding: set while they are held.
    """

    def __init__(self, port: int) -> None:
        self._port = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: set[socket.socket] = set()
        self._is_cut = False
        self.late = b""
        self.holding = threading.Event()
        self._caught_up = threading.Event()
        self.address = f"http://127.0.0.1:{self._listener.getsockname()[1]}/"
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Self:
        """The network itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close everything."""
        self.catch_up()
        self.cut()
        self._listener.close()

    def cut(self) -> None:
        """Drop all connections, and those that come until `mend`."""
        self._is_cut = True
        for connection in list(self._open):
            self._close(connection)

    def mend(self) -> None:
        """Pass connections on again."""
        self._is_cut = False

    def lead_to(self, port: int) -> None:
        """Pass connections that come from here on to another port."""
        self._port = port

    def catch_up(self) -> None:
        """Pass on what is held."""
        self._caught_up.set()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                if self._is_cut:
                    near.close()
                    continue
                far = socket.create_connection(("127.0.0.1", self._port))
                self._open |= {near, far}
                for ends in ((near, far), (far, near)):
                    threading.Thread(target=self._pass, args=ends, daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket) -> None:
        before = b""  # the marker of what is late may arrive in two parts
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if self.late and self.late in before[1 - len(self.late) :] + data:
                    self.late = b""
                    self.holding.set()
                    self._caught_up.wait()
                target.sendall(data)
                before = data
        self._close(source)
        self._close(target)

    def _close(self, one: socket.socket) -> None:
        self._open.discard(one)
        with contextlib.suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
        one.close()
