"""The private stacks of tools/run-tests: how they are made, their ports, and that none outlives the
run."""

import concurrent.futures
import os
import re
import shutil
import socket
import subprocess
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STACKS = ROOT / "build/test-run"
STACK = ROOT / "deploy/local/stack"
MEMORY_MIN = 4 << 30
PORT_SLICES = 20  # deploy/local/lib/ports.sh


def at_once(most, calls):
    """Makes calls (FUNCTION, ARGUMENT...), at most this many side by side."""
    with concurrent.futures.ThreadPoolExecutor(max(most, 1)) as pool:
        for ended in [pool.submit(*call) for call in calls]:
            ended.result()


class Stack:
    """A private stack in a separate folder: made on first use, made ready before each test."""

    def __init__(self, runner, name, settings):
        self.runner, self.name, self.folder = runner, name, STACKS / name
        self.log = runner.logs / f"stack-{name}.log"
        number, self.slice = take_port_slice()
        self.environment = runner.environment | settings | {
            "RUN_DIR": str(self.folder), "PORT_SLICE": str(number)}
        self.lock, self.exported = threading.Lock(), None

    def up(self, again):
        """The environment for a test, or None if the stack did not start. Whatever the previous test did to it,
        the next one finds it ready: this is the purpose of `again`."""
        with self.lock:
            if not self.folder.exists():
                self.choose()
            elif self.exported is not None and not again:
                return self.exported
            with self.log.open("ab") as log:
                if self.runner.start_and_wait([STACK, "up"], self.environment, log) != 0:
                    return None
            exports = subprocess.run(["bash", "-c", 'set -a; . "$RUN_DIR/env"; exec env -0'],
                                     env=self.environment, stdout=subprocess.PIPE, check=True).stdout
            self.exported = dict(pair.split("=", 1)
                                 for pair in exports.decode().split("\0") if pair)
            return self.exported

    def choose(self):
        """A new stack, with the things that some tests need: two gateways, TLS, a proxy at another loopback
        address."""
        self.folder.mkdir(parents=True)
        port = int(subprocess.run([STACK, "free-port", "12"], env=self.environment, check=True,
                                  stdout=subprocess.PIPE).stdout)
        certificates = self.folder / "certificates"
        limit_scale = 1 if self.runner.profile == "release" else 10
        self.environment |= {
            "GATEWAY_PORT": str(port), "DASHBOARD_PORT": str(port + 11),
            "GATEWAY_TLS_PORT": str(port + 4), "GATEWAY_TLS_CERT": str(self.folder / "tls.crt"),
            "GATEWAY_TLS_KEY": str(self.folder / "tls.key"),
            "REPLICAS_GATEWAY": "2", "TRUSTED_PROXIES": "127.0.0.2/32",
            "SHUTDOWN_DELAY_MS": str(500 * limit_scale),
            # Tests that wait for usage reports do not wait for long.
            "USAGE_INTERVAL_MS": "1000",
            # Receivers of webhooks run inside the tests, on loopback, and so does a DNS server.
            "WEBHOOK_CERTIFICATES": str(certificates), "WEBHOOK_ALLOW_CIDRS": "127.0.0.0/8,::1/128",
            "WEBHOOK_CA_FILE": str(certificates / "authority.pem"),
            "WEBHOOK_DNS_SERVER": f"127.0.0.1:{port + 9}",
        }
        if "CELLS" not in self.environment:
            # The second is only a name.
            self.environment["CELL_NAMES"] = "main,spare"
        with self.log.open("ab") as log:
            for command in (
                    ["tests/support/make-certificates", certificates],
                    ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                     "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=gateway",
                     "-addext", "subjectAltName=IP:127.0.0.1",
                     "-keyout", self.folder / "tls.key", "-out", self.folder / "tls.crt"]):
                subprocess.run(command, cwd=ROOT, stdout=log, stderr=log, check=True,
                               start_new_session=True)


def roomy_memory():
    """A file system in memory with room for the databases' data, or None. They create, remove and sync tens of
    thousands of files, which is slow on some disks. It may have less free space than the memory."""
    memory = "/dev/shm"
    try:
        available = re.search(r"^MemAvailable: +(\d+) kB", Path("/proc/meminfo").read_text(), re.M)
        free = min(shutil.disk_usage(memory).free, int(available[1]) << 10)
        return memory if free >= MEMORY_MIN else None
    except OSError:
        return None


def take_port_slice():
    """The number of a range of ports that no other stack on the machine uses, from any tree, as long as the socket
    returned with it is open: its name can only be bound once. If all are taken, the last one is shared."""
    for number in range(PORT_SLICES):
        name = socket.socket(socket.AF_UNIX)
        try:
            name.bind(f"\0conversations-port-slice-{number}")
            break
        except OSError:
            name.close()
    return number, name


def stop_stacks(folder):
    """Stops all stacks below it, including those that tests have started."""
    locks = list(folder.glob("*/lock"))
    at_once(len(locks), [(stop_stack, lock.parent) for lock in locks])


def stop_stack(folder):
    # In a separate session: another Ctrl-C does not interrupt it.
    subprocess.run([STACK, "down"], env=os.environ | {"RUN_DIR": str(folder)}, check=False,
                   start_new_session=True)


def forget(folder):
    stop_stacks(folder)
    shutil.rmtree(folder, ignore_errors=True)


def forget_when_we_end(folder):
    """Starts a process that outlives this one, however it ends, and then removes everything of that folder. It
    waits for the end of the pipe; this returns the descriptor."""
    ours, theirs = os.pipe()
    if os.fork() == 0:
        os.setsid()
        os.close(theirs)
        os.read(ours, 1)
        forget(folder)
        os._exit(0)
    os.close(ours)
    return theirs
