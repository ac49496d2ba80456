"""The API over HTTP, the operator's convctl, and the checks for both."""
import http.client
import json
import socket
import subprocess
import sys
import urllib.parse


class Mismatch(Exception):
    """An answer breaks the contract."""


def check(is_so, what, shown=""):
    """Prints that the check passed, or ends the run."""
    if not is_so:
        raise Mismatch(f"{what}: {shown}")
    print("ok   " + what, flush=True)


def convctl(*arguments):
    """Runs convctl over the bus, which it finds by NATS_URL_FILE in the environment."""
    done = subprocess.run(["convctl", *arguments], capture_output=True, text=True, timeout=30)
    if done.returncode != 0:
        raise Mismatch(f"convctl {' '.join(arguments)}: {done.stderr.strip()}")
    return json.loads(done.stdout)


class Answer:
    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.body = json.loads(response.read())

    def is_error(self, status, code):
        return (
            self.status == status
            and self.body["type"] == "error.list"
            and self.body["errors"][0]["code"] == code
        )

    def __str__(self):
        return f"{self.status} {self.body}"


class Api:
    """The API with one key. Collects what the audit log must contain: request id -> status."""

    def __init__(self, base_url, token, audit_log):
        url = urllib.parse.urlsplit(base_url)
        self.host, self.port, self.prefix = url.hostname, url.port, url.path
        self.token, self.audit_log = token, audit_log

    def call(self, method, path, body=None, **headers):
        connection = http.client.HTTPConnection(self.host, self.port, timeout=30)
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        headers["Authorization"] = "Bearer " + self.token
        text = None
        if body is not None:
            text = json.dumps(body)
            headers["Content-Type"] = "application/json"
        try:
            connection.request(method, self.prefix + path, text, headers)
            answer = Answer(connection.getresponse())
        finally:
            connection.close()
        self.note(answer)
        return answer

    def note(self, answer):
        request_id = answer.headers["X-Service-Request-Id"]
        if request_id is None or answer.headers["Cache-Control"] != "no-store":
            raise Mismatch(f"headers of every answer: {answer.headers}")
        if answer.status != 401:
            self.audit_log[request_id] = answer.status


def replicas(name):
    """The addresses behind HOST:PORT, one for each replica."""
    host, port = name.split(":")
    found = socket.getaddrinfo(host, port, socket.AF_INET, socket.SOCK_STREAM)
    return sorted({f"{address[0]}:{port}" for *_, address in found})


def end(problem):
    print(f"FAILED  {problem}", file=sys.stderr)
    sys.exit(1)
