"""A webhook receiver: HTTPS on a separate port, under a certificate for this container's address."""
import http.server
import os
import queue
import socket
import ssl
import subprocess
import tempfile
import threading

from verify import verified


def own_address(peer):
    """The address at which the peer, a service in the same network, reaches this container."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((peer, 9))
        return probe.getsockname()[0]


def make_certificate(folder, address):
    """A certificate signed by the test's authority; made at run time, when the address is known."""
    request, extensions = f"{folder}/request.pem", f"{folder}/extensions"
    with open(extensions, "w", encoding="ascii") as file:
        file.write(f"subjectAltName=IP:{address}\n")
    for command in (
        "req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=receiver"
        f" -keyout {folder}/key.pem -out {request}",
        f"x509 -req -in {request} -days 1 -set_serial 0x{os.urandom(8).hex()}"
        f" -CA {os.environ['RECEIVER_CA_FILE']} -CAkey {os.environ['RECEIVER_CA_KEY_FILE']}"
        f" -extfile {extensions} -out {folder}/certificate.pem",
    ):
        subprocess.run(["openssl", *command.split()], check=True, capture_output=True, timeout=30)
    return f"{folder}/certificate.pem", f"{folder}/key.pem"


class Receiver:
    """Keeps deliveries that are signed with its secret and answers 204; answers 400 to all others."""

    def __init__(self, peer):
        self.secret = ""
        self.taken = queue.Queue()
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                event = receiver.take(self)
                self.send_response(204 if event else 400)
                self.end_headers()
                if event:
                    receiver.taken.put((event, self.headers))

            def log_message(self, *_):
                pass

        address = own_address(peer)
        self.server = http.server.ThreadingHTTPServer((address, 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with tempfile.TemporaryDirectory() as folder:
            context.load_cert_chain(*make_certificate(folder, address))
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.url = f"https://{address}:{self.server.server_address[1]}/hooks"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def take(self, request):
        body = request.rfile.read(int(request.headers["Content-Length"]))
        timestamp = request.headers["X-Service-Timestamp"]
        signature = request.headers["X-Service-Signature"]
        if not timestamp or not signature:
            return None
        return verified(self.secret, timestamp, signature, body)

    def wait(self, seconds):
        """The next event with its headers, or None."""
        try:
            return self.taken.get(timeout=seconds)
        except queue.Empty:
            return None
