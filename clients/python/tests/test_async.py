"""What only the client for asyncio has to do: cancelled calls, several event loops, threads."""

import asyncio
import inspect
import threading
import unittest

from conversations_client import AsyncClient, Client, NetworkError, RetryPolicy
from scripted import HANG, KEY, PING, ScriptedServer, asked_for


def public(kind):
    return {name: inspect.signature(member) for name, member in vars(kind).items()
            if not name.startswith("_") and name not in ("close", "aclose")}


class Async(unittest.TestCase):
    def test_it_has_the_methods_of_the_client_for_threads(self):
        def arguments(kind):
            return {name: list(told.parameters.values()) for name, told in public(kind).items()}

        self.assertEqual(arguments(AsyncClient), arguments(Client))
        self.assertEqual(len(arguments(Client)), 8)
        self.assertTrue(inspect.iscoroutinefunction(AsyncClient.ping))
        self.assertTrue(inspect.isasyncgenfunction(AsyncClient.audit_logs))

    def test_many_tasks_share_a_client(self):
        async def main(url):
            async with AsyncClient(url, KEY) as client:
                found = await asyncio.gather(*(client.get_conversation(f"c-{i}") for i in range(300)))
                return [answer.data.id for answer in found]

        with ScriptedServer(asked_for) as server:
            self.assertEqual(asyncio.run(main(server.url)), [f"c-{i}" for i in range(300)])
            self.assertLessEqual(len(set(server.ports)), 100)

    def test_a_cancelled_call_ends_and_takes_nothing_with_it(self):
        async def main(server):
            async with AsyncClient(server.url, KEY) as client:
                for number in range(120):  # more than there may be connections
                    task = asyncio.ensure_future(client.ping())
                    while len(server.requests) <= number:
                        await asyncio.sleep(0)
                    task.cancel()
                    with self.assertRaises(asyncio.CancelledError):
                        await task
                server.script[:] = [PING]
                return await client.ping(budget=20)

        with ScriptedServer(HANG) as server:
            self.assertEqual(asyncio.run(main(server)).attempts, 1)

    def test_an_attempt_that_took_too_long_leaves_nothing(self):
        async def main(server):
            policy = RetryPolicy(timeout=2.0, retries=0)
            async with AsyncClient(server.url, KEY, policy=policy) as client:
                async def fails():
                    with self.assertRaises(NetworkError):
                        await client.ping()

                for _ in range(2):  # more than there may be connections
                    await asyncio.gather(*(fails() for _ in range(60)))
                server.script[:] = [PING]
                return await client.ping(budget=20)

        with ScriptedServer(HANG) as server:
            self.assertEqual(asyncio.run(main(server)).attempts, 1)

    def test_one_event_loop_after_another_uses_the_client(self):
        async def main(client):
            answers = [await client.get_conversation("c-1") for _ in range(2)]
            await client.aclose()
            return {answer.attempts for answer in answers}

        with ScriptedServer(asked_for) as server:
            client = AsyncClient(server.url, KEY)
            for _ in range(5):
                self.assertEqual(asyncio.run(main(client)), {1})
            self.assertEqual(len(set(server.ports)), 5)
            self.assertEqual(len(client._transports._transports), 1)

    def test_a_loop_that_was_closed_is_forgotten(self):
        with ScriptedServer(asked_for) as server:
            client = AsyncClient(server.url, KEY)

            async def main():
                await client.get_conversation("c-1")
                # Otherwise Python warns of a connection that is open when its loop is closed.
                for transport in client._transports._transports.values():
                    await transport.aclose()

            for _ in range(3):
                asyncio.run(main())
            self.assertEqual(len(client._transports._transports), 1)

    def test_threads_with_event_loops_share_a_client_with_threads_without(self):
        wrong = []

        def ask(get):
            try:
                wrong.extend(one for one in range(50) if get(f"c-{one}").data.id != f"c-{one}")
            except Exception as error:
                wrong.append(error)

        def loop(client):
            async def main():
                for number in range(50):
                    answer = await client.get_conversation(f"c-{number}")
                    if answer.data.id != f"c-{number}":
                        wrong.append(number)
                await client.aclose()

            asyncio.run(main())

        with ScriptedServer(asked_for) as server, Client(server.url, KEY) as plain:
            client = AsyncClient(server.url, KEY)
            threads = [threading.Thread(target=loop, args=(client,)) for _ in range(4)]
            threads += [threading.Thread(target=ask, args=(plain.get_conversation,)) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(len(server.requests), 400)
        self.assertEqual(wrong, [])

    def test_a_thread_of_a_task_uses_the_client_for_threads(self):
        async def main(client):
            return await asyncio.gather(*(asyncio.get_running_loop().run_in_executor(None, client.ping)
                                          for _ in range(20)))

        with ScriptedServer(PING) as server, Client(server.url, KEY) as client:
            self.assertEqual({answer.attempts for answer in asyncio.run(main(client))}, {1})


if __name__ == "__main__":
    unittest.main()
