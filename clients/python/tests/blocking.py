"""An AsyncClient with the methods of Client, so that the same tests run for both."""

import asyncio

from conversations_client import AsyncClient


class AsyncClock:
    def __init__(self, clock):
        self.clock = clock

    def monotonic(self):
        return self.clock.monotonic()

    async def sleep(self, seconds):
        self.clock.sleep(seconds)


class Blocking:
    """It has an event loop of its own, which runs only during a call."""

    def __init__(self, *args, clock=None, **options):
        if clock is not None:
            options["clock"] = AsyncClock(clock)
        self.client = AsyncClient(*args, **options)
        self.loop = asyncio.new_event_loop()

    def __repr__(self):
        return repr(self.client)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        if not self.loop.is_closed():
            self.loop.run_until_complete(self.client.aclose())
            self.loop.run_until_complete(self.loop.shutdown_default_executor())
            self.loop.close()

    def together(self, count, name):
        """Calls a method several times at once."""
        async def all_of_them():
            return await asyncio.gather(*(getattr(self.client, name)() for _ in range(count)))

        return self.loop.run_until_complete(all_of_them())

    def __getattr__(self, name):
        def call(*args, **options):
            made = getattr(self.client, name)(*args, **options)
            return self.items(made) if hasattr(made, "__anext__") else self.loop.run_until_complete(made)

        return call

    def items(self, made):
        try:
            while True:
                try:
                    yield self.loop.run_until_complete(made.__anext__())
                except StopAsyncIteration:
                    return
        finally:
            self.loop.run_until_complete(made.aclose())
