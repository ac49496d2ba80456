#!/usr/bin/env python3
"""run.py MINUTES held|free [RATE]: creates at RATE/s with a real endpoint; a line of JSON a minute."""
import asyncio, json, os, re, ssl, subprocess, sys, time, urllib.request, collections
run = os.environ["RUN_DIR"]
env = dict(l.strip().split("=", 1) for l in open(run + "/env") if "=" in l and not l.startswith("#"))
env = {k: v.strip("'") for k, v in env.items()}
minutes, held, rate = int(sys.argv[1]), sys.argv[2] == "held", float(sys.argv[3]) if len(sys.argv) > 3 else 100.0
host, port = re.match(r"http://([\d.]+):(\d+)", env["BASE_URL"]).groups()
ports = dict(l.split() for l in open(run + "/ports"))
answered, lat, late, failed, delivered, dup = {}, [], [], collections.Counter(), 0, 0
early = {}
create_ms = []
TICK = os.sysconf("SC_CLK_TCK")

async def receiver(r, w):
    global delivered, dup
    try:
        while True:
            head = await r.readuntil(b"\r\n\r\n")
            n = int(re.search(rb"content-length: (\d+)", head, re.I)[1])
            body = await r.readexactly(n)
            now = time.monotonic()
            w.write(b"HTTP/1.1 204 No Content\r\n\r\n")
            m = json.loads(body)
            i = re.search(r'"data":\{"id":\s*"([0-9a-f-]{36})"', body.decode())
            if not i: print("what", body[:500], file=sys.stderr); continue
            i = i[1]
            if i in answered: lat.append(now - answered.pop(i)); delivered += 1
            else: early[i] = now
    except (asyncio.IncompleteReadError, ConnectionError):
        pass

async def worker(queue):
    r = w = None
    while True:
        n = await queue.get()
        if n is None: return
        b = json.dumps({"external_id": f"e-{os.getpid()}-{n}", "from": {"external_id": f"user-{n % 1000}"}}).encode()
        try:
            if w is None: r, w = await asyncio.open_connection(host, int(port))
            t = time.monotonic()
            w.write(b"POST /api/v1/conversations HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + env["FULL_KEY"].encode()
                    + b"\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(b) + b)
            head = await r.readuntil(b"\r\n\r\n")
            body = await r.readexactly(int(re.search(rb"content-length: (\d+)", head, re.I)[1]))
            now = time.monotonic()
            status = int(head.split()[1])
            failed[status] += 1
            create_ms.append((now - t) * 1000)
            i = re.search(r'"id":"([0-9a-f-]{36})"', body.decode())[1] if status in (200, 201) else None
            if i in early: lat.append(early.pop(i) - now); globals().__setitem__("delivered", delivered + 1)
            elif i: answered[i] = now
        except Exception as e:
            failed[repr(e)[:80]] += 1; w = None

def cpu():
    par, use = {}, {}
    for p in os.listdir("/proc"):
        if not p.isdigit(): continue
        try: s = open(f"/proc/{p}/stat").read().rsplit(")", 1)[1].split()
        except OSError: continue
        par[int(p)] = int(s[1]); use[int(p)] = sum(map(int, s[11:15]))
    roots = {int(open(f"{run}/pids/{n}").read()): n for n in os.listdir(run + "/pids")}
    total, each = collections.Counter(), {}
    for p in use:
        a = p
        while a > 1 and a not in roots: a = par.get(a, 0)
        if a in roots:
            total[roots[a]] += use[p]
            if roots[a] == "postgres": each[p] = use[p]
    return total, each

def psql(q):
    return subprocess.run(["psql", "-qAtX", env["DATABASE_URL"], "-c", q], capture_output=True, text=True).stdout.strip()

def turns():
    t = urllib.request.urlopen(f"http://127.0.0.1:{ports['webhook-0']}/metrics", timeout=3).read().decode()
    return [float(re.search(rf"^conversations_webhook_turn_seconds_{x} (\S+)$", t, re.M)[1]) for x in ("count", "sum")]

def q(v, p): return round(sorted(v)[int((len(v) - 1) * p)], 4) if v else None

async def main():
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER); tls.load_cert_chain("/tmp/snapshot/receiver.pem", "/tmp/snapshot/receiver.key")
    await asyncio.start_server(receiver, "127.0.0.1", 9443, ssl=tls)
    queue = asyncio.Queue()
    workers = [asyncio.create_task(worker(queue)) for _ in range(16)]
    n = 0
    async def feed(until):
        nonlocal n
        begin, k = time.monotonic(), 0
        while True:
            due = begin + k / rate
            if due >= until: return
            d = due - time.monotonic()
            if d > 0: await asyncio.sleep(d)
            queue.put_nowait(n); n += 1; k += 1
    await feed(time.monotonic() + 60)
    holder = None
    if held:
        holder = subprocess.Popen(["psql", "-qX", env["DATABASE_URL"], "-c", "BEGIN ISOLATION LEVEL REPEATABLE READ", "-c", "SELECT count(*) FROM audit.entries", "-c", "SELECT pg_sleep(86400)"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    for minute in range(minutes):
        for l in (lat, create_ms): l.clear()
        c0, t0, n0, d0 = cpu()[0], turns(), n, delivered
        pg0 = cpu()[1]
        m0 = time.monotonic()
        await feed(m0 + 60)
        c1, pg1 = cpu(); t1 = turns(); secs = time.monotonic() - m0
        names = dict(l.split("|", 1) for l in psql("select pid, coalesce(usename,'')||'/'||backend_type from pg_stat_activity").splitlines())
        by = collections.Counter()
        for p in pg1: by[names.get(str(p), "gone")] += pg1[p] - pg0.get(p, 0)
        now = time.monotonic()
        made = n - n0
        us = {k: round((c1[k] - c0[k]) / TICK * 1e6 / made, 1) for k in c1}
        line = {"minute": minute, "made": made, "status": dict(failed), "delivered": delivered - d0,
                "turn_ms": round((t1[1] - t0[1]) * 1000 / max(t1[0] - t0[0], 1), 3), "turns": t1[0] - t0[0],
                "deliver_s": [q(lat, .5), q(lat, .99), q(lat, 1)], "oldest_s": round(max([now - a for a in answered.values()] or [0]), 3),
                "create_ms": [q(create_ms, .5), q(create_ms, .99), q(create_ms, 1)], "us": us, "all_us": round(sum(us.values()), 1),
                "pg_us": {k: round(v / TICK * 1e6 / made, 1) for k, v in by.most_common(12)}}
        if minute % 10 == 9 or minute == 0:
            line["xmin_age"] = psql("select max(age(backend_xmin)) from pg_stat_activity")
            line["tables"] = psql("select string_agg(schemaname||'.'||relname||' '||n_live_tup||'/'||n_dead_tup||' '||pg_total_relation_size(relid)/1024, '; ' order by n_dead_tup desc) from (select * from pg_stat_user_tables order by n_dead_tup desc limit 16) t")
        print(json.dumps(line), flush=True)
    if holder: holder.kill()
    await asyncio.sleep(3)
    print(json.dumps({"end": True, "undelivered": len(answered), "status": dict(failed), "n": n}), flush=True)
    os._exit(0)
asyncio.run(main())
