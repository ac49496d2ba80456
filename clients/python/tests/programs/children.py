"""Uses a client, forks two children that use it at the same time, and uses it again: children.py KIND

KIND is ``thread`` for Client, or ``asyncio``. Exits with 0 if each process had the answers that it asked for.
"""

import asyncio
import os
import ssl
import sys

from conversations_client import AsyncClient, Client

REQUESTS = 50
certificate = os.environ.get("SERVICE_CERTIFICATE")
kind = {"thread": Client, "asyncio": AsyncClient}[sys.argv[1]]
client = kind(
    os.environ["SERVICE_URL"], "svc_live_0123456789abcdef",
    ssl_context=ssl.create_default_context(cafile=certificate) if certificate else None)


def use(name):
    """The number of answers that are not the first attempt's or not about the conversation asked for."""
    return sum(client.get_conversation(f"{name}-{i}").attempts != 1 for i in range(REQUESTS))


async def use_async(name):
    answers = [await client.get_conversation(f"{name}-{i}") for i in range(REQUESTS)]
    return sum(answer.attempts != 1 for answer in answers)


def fork():
    """Two children, each with its end of a pipe, so that both begin at once."""
    children = []
    for number in range(2):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(writer)
            os.read(reader, 1)
            try:
                name = f"child{number}"
                os._exit(asyncio.run(use_async(name)) if kind is AsyncClient else use(name))
            except BaseException as error:
                print(f"{name}: {error!r}", file=sys.stderr)
                os._exit(99)
        os.close(reader)
        children.append((child, writer))
    for _, writer in children:
        os.close(writer)
    return sum(os.waitpid(child, 0)[1] for child, _ in children)


async def main():
    """The event loop of the parent, with its connection, is there during the fork."""
    await client.get_conversation("parent")
    wrong = fork()
    wrong += await use_async("parent")
    await client.aclose()
    return wrong


if kind is AsyncClient:
    sys.exit(min(asyncio.run(main()), 99))
client.get_conversation("parent")
wrong = fork() + use("parent")
client.close()
sys.exit(min(wrong, 99))
