"""Processes that were forked after the client was used: each has its own answers, plain and over TLS."""

import http.client
import os
import re
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from scripted import PING, Certificate, ScriptedServer, asked_for

PROGRAMS = Path(__file__).resolve().parent / "programs"
CHILDREN = 2
FIRST = {f"c-{number}" for number in range(CHILDREN)}


class Fork(unittest.TestCase):
    is_secure = False

    def setUp(self):
        self.awaited, self.changed = set(FIRST), threading.Condition()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        certificate = None
        if self.is_secure:
            certificate = Certificate()
            self.addCleanup(certificate.close)
        self.server = ScriptedServer(self.answer, certificate=certificate)
        self.server.__enter__()
        self.addCleanup(self.server.__exit__)
        self.env = {**os.environ, "SERVICE_URL": self.server.url, "JOBS_FOLDER": str(self.folder)}
        if certificate:
            self.env["SERVICE_CERTIFICATE"] = str(certificate.path)

    def answer(self, method, path, body):
        """The first requests wait for one another: no child is left without work."""
        name = path.rpartition("/")[2]
        with self.changed:
            self.awaited.discard(name)
            self.changed.notify_all()
            if name in FIRST:
                self.changed.wait_for(lambda: not self.awaited, timeout=60)
        return PING if path.endswith("/ping") else asked_for(method, path, body)

    def begin(self, *command, ready, **options):
        """Starts a program, and waits until it says that it is ready."""
        program = subprocess.Popen(
            [sys.executable, *command], cwd=PROGRAMS, env=self.env, stderr=subprocess.STDOUT,
            stdout=subprocess.PIPE, start_new_session=True, **options)
        self.addCleanup(self.end, program)
        said = ""
        while not re.search(ready, said):
            readable, _, _ = select.select([program.stdout], [], [], 60)
            # Not by lines: those that were read ahead would not be readable.
            part = os.read(program.stdout.fileno(), 65536) if readable else b""
            self.assertTrue(part, f"{command} is not ready: {said}")
            said += part.decode(errors="replace")
        return program

    def end(self, program):
        """Waits for its children too, which have its output."""
        program.terminate()
        try:
            program.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            os.killpg(program.pid, signal.SIGKILL)
            program.communicate()

    def test_children_have_their_own_answers(self):
        for kind in ("thread", "asyncio"):
            with self.subTest(kind):
                self.server.ports.clear()
                self.server.requests.clear()
                done = subprocess.run([sys.executable, "-W", "error", PROGRAMS / "children.py", kind], env=self.env,
                                      capture_output=True, text=True, timeout=120)
                self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
                users = {}
                for port, (_, path, _, _) in zip(self.server.ports, self.server.requests):
                    users.setdefault(port, set()).add(path.rpartition("/")[2].partition("-")[0])
                self.assertEqual({len(names) for names in users.values()}, {1}, users)
                self.assertEqual(len(self.server.requests), 151)

    def test_workers_of_gunicorn_that_preload_the_application(self):
        path = str(self.folder / "web")
        self.begin("-m", "gunicorn", "--preload", "--workers", str(CHILDREN), "--bind", f"unix:{path}",
                   "--worker-tmp-dir", str(self.folder), "web:app", ready="(?s)(Booting worker.*){2}")

        def get(number):
            connection = http.client.HTTPConnection("localhost")
            with socket.socket(socket.AF_UNIX) as connection.sock:
                connection.sock.connect(path)
                connection.request("GET", f"/c-{number}")
                return connection.getresponse().read().decode().split()

        with ThreadPoolExecutor(4) as threads:
            answers = list(threads.map(get, range(100)))
        self.assertEqual([found for _, found in answers], [f"c-{number}" for number in range(100)])
        self.assertEqual(len({process for process, _ in answers}), CHILDREN)

    def test_the_workers_of_celery(self):
        for name in ("queue", "results"):
            (self.folder / name).mkdir()
        self.begin("-m", "celery", "--app", "jobs", "worker", "--pool", "prefork", "--concurrency", str(CHILDREN),
                   "--without-gossip", "--without-mingle", "--without-heartbeat", "--loglevel", "INFO",
                   ready="ready\\.")
        program = ("import sys, jobs; waiting = [jobs.get.delay(f'c-{i}') for i in range(100)]; "
                   "[print(*one.get(timeout=60, interval=0.05)) for one in waiting]")
        done = subprocess.run([sys.executable, "-c", program], cwd=PROGRAMS, env=self.env, capture_output=True,
                              text=True, timeout=120)
        answers = [line.split() for line in done.stdout.splitlines()]
        self.assertEqual([found for _, found in answers], [f"c-{i}" for i in range(100)], done.stderr)
        self.assertEqual(len({process for process, _ in answers}), CHILDREN)


class SecureFork(Fork):
    is_secure = True


if __name__ == "__main__":
    unittest.main()
