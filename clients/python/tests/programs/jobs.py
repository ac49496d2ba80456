"""A Celery application that uses its client before the worker forks. tests/test_fork.py runs a worker of it."""

import os
import ssl

from celery import Celery
from conversations_client import Client

folder = os.environ["JOBS_FOLDER"]
certificate = os.environ.get("SERVICE_CERTIFICATE")
client = Client(
    os.environ["SERVICE_URL"], "svc_live_0123456789abcdef",
    ssl_context=ssl.create_default_context(cafile=certificate) if certificate else None)
client.ping()

app = Celery("jobs", broker="filesystem://", backend=f"file://{folder}/results")
app.conf.update(
    broker_transport_options={"data_folder_in": f"{folder}/queue", "data_folder_out": f"{folder}/queue"},
    # No limit: whenever it is reached, this transport waits for two seconds before it takes more.
    worker_prefetch_multiplier=0, broker_connection_retry_on_startup=True)


@app.task
def get(conversation_id):
    return os.getpid(), client.get_conversation(conversation_id).data.id
