"""One process that floods a port of this host: python -m tests.bench.flood.client KIND PORT ADDRESSES COUNT SECONDS

idle    connections that say nothing; one that is ended is made again
drip    requests whose body comes by a byte a second
get     requests of PATH (the sixth argument), one after another on each connection
watch   Health/Watch streams; one that is refused is asked for again

It floods for so many seconds, then prints what became of it as a line of JSON.
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import time
from collections import Counter
from collections.abc import Callable, Coroutine

import grpc
import grpc.aio
from grpc_health.v1 import health_pb2, health_pb2_grpc

from tests.bench.progress import say

_AGAIN_S = 0.5  # before a connection that was ended is made again
_MOST_DIALS = 100
_HOST = "127.0.0.1"


class Flood:
    """All connections of this process, until a moment of the monotonic clock."""

    def __init__(self, port: int, path: str, until: float) -> None:
        self.seen: Counter[str] = Counter()
        self._port = port
        self._path = path
        self._until = until
        self._dials = asyncio.Semaphore(_MOST_DIALS)

    async def idle(self, address: str) -> None:
        reader, writer = await self._dial(address)
        self.seen["connected"] += 1
        try:
            async with asyncio.timeout_at(self._until):
                while await reader.read(4096):
                    pass
            self.seen["ended by the member"] += 1
        finally:
            writer.close()

    async def drip(self, address: str) -> None:
        reader, writer = await self._dial(address)
        self.seen["connected"] += 1
        head = "POST /auth/token HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n"
        writer.write(f"{head}Content-Length: 100000\r\n\r\ntoken=".encode())
        try:
            while time.monotonic() < self._until:
                writer.write(b"a")
                await writer.drain()
                try:
                    if not await asyncio.wait_for(reader.read(4096), 1.0):
                        self.seen["ended by the member"] += 1
                        return
                except TimeoutError:
                    continue
        finally:
            writer.close()

    async def get(self, address: str) -> None:
        reader, writer = await self._dial(address)
        try:
            async with asyncio.timeout_at(self._until):
                writer.write(f"GET {self._path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
                status = (await reader.readline()).split()
                await reader.read()
                self.seen[f"answered {status[1].decode() if len(status) > 1 else 'nothing'}"] += 1
        finally:
            writer.close()

    async def watch(self, _: str) -> None:
        options = [("grpc.use_local_subchannel_pool", 1), ("grpc.enable_http_proxy", 0)]
        async with grpc.aio.insecure_channel(f"{_HOST}:{self._port}", options=options) as channel:
            streams = [
                health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest(), timeout=self.left_s)
                for _ in range(100)
            ]
            for code in await asyncio.gather(*(stream.code() for stream in streams)):
                self.seen[f"ended with {code.name}"] += 1

    async def _dial(self, address: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Raise TimeoutError when the flood is over before there is a connection."""
        async with asyncio.timeout_at(self._until), self._dials:
            return await asyncio.open_connection(_HOST, self._port, local_addr=(address, 0))

    @property
    def left_s(self) -> float:
        return max(0.1, self._until - time.monotonic())

    async def again_and_again(self, once: Callable[[str], Coroutine[None, None, None]], address: str) -> None:
        while time.monotonic() < self._until:
            try:
                await once(address)
            except TimeoutError:
                return
            except (OSError, grpc.RpcError) as error:
                self.seen[type(error).__name__] += 1
            await asyncio.sleep(_AGAIN_S)


async def main(kind: str, port: int, addresses: int, count: int, seconds: float, path: str) -> Counter[str]:
    flood = Flood(port, path, time.monotonic() + seconds)
    once = {"idle": flood.idle, "drip": flood.drip, "get": flood.get, "watch": flood.watch}[kind]
    # The probes' own address, 127.0.0.1, is that of the flood from one address as well.
    from_where = [f"127.0.0.{1 + number % addresses}" for number in range(count)]
    await asyncio.gather(*(flood.again_and_again(once, address) for address in from_where))
    return flood.seen


if __name__ == "__main__":
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    kind, port, addresses, count, seconds, *more = sys.argv[1:]
    path = more[0] if more else "/"
    say(json.dumps(asyncio.run(main(kind, int(port), int(addresses), int(count), float(seconds), path))))
