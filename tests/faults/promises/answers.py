"""What an answer says by itself, when it comes, and whether its key was good."""

from .history import AFTERMATH, FINAL, brief

LATE = 6_000_000           # no answer comes later than COMMAND_TIMEOUT_MS + 1 s; the rest is a busy machine's
IN_FORCE = 2_000_000       # a second over the bus, and one for a busy machine
IN_FORCE_MAX = 66_000_000  # 60 s while access cannot be asked


class Answers:
    def __init__(self, checker):
        self.checker, self.history = checker, checker.history

    def check(self):
        for op in self.history.ops:
            self.check_status(op)
            self.check_time(op)
            got = op.get("got")
            if op["status"] >= 400 and (got is None or got.get("request_id") != op["id"]):
                self.checker.broken("an error is in its envelope", brief(op))
            if op["op"] == "ping" and op["status"] == 200:
                self.check_ping(op, got)

    def check_status(self, op):
        args, status = op["args"], op["status"]
        if status in (0, 500, 503):
            if not self.history.is_disturbed(op["begin"], op["end"]):
                self.checker.counts["failures without a fault"] += 1
                self.checker.broken("nothing fails without a fault", brief(op))
            # A gateway refuses connections until it has its bus.
            elif status == 0 and not self.history.is_disturbed(
                    op["begin"], op["end"], f"gateway-{op['gateway']}", "nats:", "/all"):
                self.checker.broken("a gateway that lives answers", brief(op))
            return
        if "key" in args:
            return
        if "refused" in args:
            right = [args["refused"]]
        elif "across" in args:
            right = [404]
        elif args.get("why") == "conflict":
            right = [200, 201, 409]
        else:
            right = [200, 201] if op["op"] == "create" else [200]
        if status not in right:
            self.checker.broken("a request gets the status that it is to get", brief(op), "instead of", right)

    def check_time(self, op):
        took = op["end"] - op["begin"]
        if took > LATE and not self.history.is_disturbed(
                op["begin"], op["end"], f"gateway-{op['gateway']}", aftermath=0):
            self.checker.broken("no answer is late", brief(op), f"took {took / 1e6:.1f} s")

    def check_ping(self, op, got):
        now = self.history.run["wall"] / 1e6
        if got["organization_id"] != self.history.orgs[op["org"]] or got["scope"] != op["args"]["scope"]:
            self.checker.broken("an answer is of the key's own organization", brief(op), got)
        if not op["begin"] / 1e6 + now - 2 <= got["server_time"] <= op["end"] / 1e6 + now + 1:
            self.checker.broken("server_time is the time of the answer", brief(op), got)


class Keys:
    """Keys that come and go: each is good from when convctl has made it until it is told to revoke it."""

    def __init__(self, checker):
        self.checker, self.history = checker, checker.history

    def check(self):
        made = {key["key"]: key for key in self.history.keys if key["state"] == "made"}
        revoked = {}
        for key in self.history.keys:
            if key["state"] == "revoked" and key["done"]:
                revoked.setdefault(key["key"], key)
        tried = {}
        for key in self.history.keys:
            if key["state"] == "revoked":
                tried.setdefault(key["key"], key["begin"])
        for op in self.history.ops:
            key = op["args"].get("key")
            if key is None or op["status"] in (0, 500, 503):
                continue
            self.checker.counts["uses of keys that come and go"] += 1
            if op["status"] not in (200, 401):
                self.checker.broken("a key works or does not", brief(op))
            if op["status"] == 401 and op["end"] < tried.get(key, FINAL) and key in made:
                self.checker.broken("a key works until it is revoked", brief(op))
            if op["status"] == 200 and key in revoked:
                end = revoked[key]["end"]
                disturbed = self.history.is_disturbed(end - AFTERMATH, op["begin"])
                if op["begin"] > end + (IN_FORCE_MAX if disturbed else IN_FORCE):
                    self.checker.broken("a revoked key is refused in time", brief(op),
                                f"{(op['begin'] - end) / 1e6:.1f} s later")
