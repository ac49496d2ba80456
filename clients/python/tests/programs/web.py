"""A web application that uses its client before the server forks. tests/test_fork.py runs gunicorn with it."""

import os
import ssl

from conversations_client import Client

certificate = os.environ.get("SERVICE_CERTIFICATE")
client = Client(
    os.environ["SERVICE_URL"], "svc_live_0123456789abcdef",
    ssl_context=ssl.create_default_context(cafile=certificate) if certificate else None)
client.ping()


def app(environ, start_response):
    """Answers with its process and the id of the conversation in the path."""
    found = client.get_conversation(environ["PATH_INFO"].rpartition("/")[2])
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [f"{os.getpid()} {found.data.id}".encode()]
