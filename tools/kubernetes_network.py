"""Whether the network policies of deploy/kubernetes let through what programs need, and nothing else. For
tools/check-kubernetes."""

import ipaddress

from kubernetes_manifests import database_of, find, labels_of, program_of, where_of

CLIENTS = {"conversations-clients": "allowed"}


def check_policies(cluster):
    def peers(document):
        spec = document["spec"]
        yield spec.get("podSelector", {})
        for rule in spec.get("ingress", []) + spec.get("egress", []):
            for peer in rule.get("from", []) + rule.get("to", []):
                if "namespaceSelector" not in peer:
                    yield peer.get("podSelector", {})

    known = set(cluster.workloads) | {database_of(workload) for workload in cluster.workloads.values()}
    ports = {p["containerPort"] for w in cluster.workloads.values()
             for c in w["spec"]["template"]["spec"]["containers"] for p in c.get("ports", [])}
    for document in cluster.of("NetworkPolicy"):
        for selector in peers(document):
            names = [selector["matchLabels"][k] for k in selector.get("matchLabels", {}) if k.endswith("/name")]
            for expression in selector.get("matchExpressions", []):
                names += expression["values"]
            for name in set(names) - known:
                find(where_of(cluster, document), f"refers to {name}, which does not exist")
        is_here = any(fits(document["spec"]["podSelector"], labels_of(w)) for w in cluster.workloads.values())
        for rule in document["spec"].get("ingress", []) if is_here else []:
            for port in rule.get("ports", []):
                if port["port"] not in ports:
                    find(where_of(cluster, document), f"admits at port {port['port']}, where nothing listens")


def fits(selector, labels):
    return (selector.get("matchLabels", {}).items() <= labels.items()
            and all(labels.get(e["key"]) in e["values"] for e in selector.get("matchExpressions", [])))


def is_let(cluster, labels, direction, peer_labels, port, blocks=True):
    """Whether a policy lets pods with these labels connect with those at that port. blocks: address blocks match."""
    side = "to" if direction == "egress" else "from"
    for policy in cluster.of("NetworkPolicy"):
        for rule in policy["spec"].get(direction, []) if fits(policy["spec"]["podSelector"], labels) else []:
            peers = [p for p in rule[side]
                     if (blocks if "ipBlock" in p else "namespaceSelector" not in p and fits(p["podSelector"], peer_labels))]
            if peers and port in [p.get("port") for p in rule["ports"]]:
                return True
    return False


def check_ways(cluster, programs):
    """Policies at both ends let programs reach the servers whose URLs they have, in their cell; convctl and databases, all."""
    databases = {database_of(workload) for workload in cluster.workloads.values()}
    for workload in cluster.workloads.values():
        labels, own = labels_of(workload), database_of(workload)
        to_all = [("CELL_DATABASES", name, 5432) for name in databases if len(databases) > 1]
        for setting, server, port in (("NATS_URL", "nats", 4222), ("DATABASE_URL", own, 5432), *to_all):
            if setting not in programs.get(program_of(workload), ()):
                continue
            there = {"app.kubernetes.io/name": server}
            if not is_let(cluster, labels, "egress", there, port):
                find(where_of(cluster, workload), f"may not connect to {server}")
            if server in cluster.workloads and not is_let(cluster, there, "ingress", labels, port):
                find(where_of(cluster, workload), f"is not admitted by {server}")
        for other in databases - {own} if program_of(workload) not in ("convctl", "postgres") else ():
            if is_let(cluster, labels, "egress", {"app.kubernetes.io/name": other}, 5432, blocks=False):
                find(where_of(cluster, workload), f"may connect to {other}")


def check_clients(cluster):
    """Namespaces with the label for clients reach the API, and nothing else."""
    reached = set()
    for policy in cluster.of("NetworkPolicy"):
        for rule in policy["spec"].get("ingress", []):
            if any(peer.get("namespaceSelector", {}).get("matchLabels") == CLIENTS for peer in rule["from"]):
                reached |= {(name, port["port"]) for name, workload in cluster.workloads.items() for port in rule["ports"]
                            if fits(policy["spec"]["podSelector"], labels_of(workload))}
    if reached != {("gateway", 8080)}:
        find(cluster.overlay, f"clients inside the cluster reach {sorted(reached)}")


def check_denied(cluster):
    """No policy lets webhooks go, at all ports, to a network that their setting denies."""
    for workload in (w for w in cluster.workloads.values() if program_of(w) == "webhook"):
        sources = workload["spec"]["template"]["spec"]["containers"][0]["envFrom"]
        given = cluster.data("ConfigMap", sources[0]["configMapRef"]["name"])
        rules = [rule for policy in cluster.of("NetworkPolicy") if fits(policy["spec"]["podSelector"], labels_of(workload))
                 for rule in policy["spec"].get("egress", []) if any("port" not in port for port in rule["ports"])]
        for denied in map(ipaddress.ip_network, given["WEBHOOK_DENY_CIDRS"].split(",")):
            for block in (peer["ipBlock"] for rule in rules for peer in rule["to"] if "ipBlock" in peer):
                here = [ipaddress.ip_network(name) for name in (block["cidr"], *block.get("except", []))]
                if here[0].version == denied.version and here[0].overlaps(denied) and not any(
                        denied.subnet_of(network) for network in here[1:]):
                    find(where_of(cluster, workload), f"a policy lets it go to {denied}, which WEBHOOK_DENY_CIDRS has")
