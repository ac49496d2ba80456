"""The manifests of deploy/kubernetes: as they are, as an overlay renders them, and what is in a cluster
that has them applied. For tools/check-kubernetes."""

import concurrent.futures
import glob
import os
import pathlib
import shutil
import subprocess

import yaml

BASE = "deploy/kubernetes"
MONITORING = "deploy/monitoring"
OVERLAYS = ("dev", "dev-cells", "production")
WORKLOADS = ("Deployment", "StatefulSet", "Job")
# Only one of each pair at a time. What a component needs from the overlay.
INSTEAD = (("components/gateway-api", "components/ingress"), ("components/external-bus", "components/bus-cluster"))
OF_OVERLAY = {"components/private-ca": {"configMapGenerator": [{"name": "private-ca", "files": ["ca.pem"]}]}}
INSTANCE = {"app.kubernetes.io/instance": "conversations"}
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
findings = []


def find(where, what):
    findings.append(f"{where}: {what}")


def read(path):
    with open(path, encoding="utf-8") as file:
        return [document for document in yaml.load_all(file, LOADER) if document]


def components_of(overlay):
    """Those that the overlay lists, or one below it."""
    kustomization = read(f"{BASE}/overlays/{overlay}/kustomization.yaml")[0]
    below = [name[3:] for name in kustomization["resources"] if name[3:] in OVERLAYS]
    return {name.removeprefix("../../") for name in kustomization["components"]}.union(*map(components_of, below))


def variants():
    """{name: (overlay, components on top of it)}: each overlay alone, with every other component, and with all of
    those that go together."""
    every = [f"components/{name}" for name in sorted(os.listdir(f"{BASE}/components"))] + ["../monitoring"]
    every.sort(key=lambda name: name != "components/cells")  # its Deployments first: others patch them
    made = {}
    for overlay in OVERLAYS:
        others = [name for name in every if name not in components_of(overlay)]
        made[overlay] = (overlay, [])
        for name in others:
            made[f"{overlay} with {os.path.basename(name)}"] = (overlay, [name])
        for without in zip(*INSTEAD):
            made[f"{overlay} with all but {' and '.join(map(os.path.basename, without))}"] = (
                overlay, [name for name in others if name not in without])
    return made


def kustomize_works():
    if shutil.which("kubectl") is None:
        return False
    answer = subprocess.run(["kubectl", "version", "--client", "-o", "json"], capture_output=True, text=True, check=False)
    return '"kustomizeVersion": "v5' in answer.stdout


def make_secrets(folder):
    subprocess.run([f"{BASE}/make-secrets", folder], check=True, env={**os.environ, "CELL_NAMES": "main,cell2"})


def copy_tree(folder):
    """A copy with separate secrets, in which each variant is an overlay."""
    copy = os.path.join(folder, "kubernetes")
    shutil.copytree(BASE, copy, ignore=shutil.ignore_patterns("secrets"))
    shutil.copytree(MONITORING, os.path.join(folder, "monitoring"))
    make_secrets(f"{copy}/overlays/dev/secrets")
    for variant, (overlay, components) in variants().items():
        kustomization = {"namespace": "conversations", "labels": [{"pairs": INSTANCE}],
                         "resources": [f"../overlays/{overlay}"],
                         "components": [f"../{component}" for component in components]}
        for component in components:
            kustomization.update(OF_OVERLAY.get(component, {}))
        os.mkdir(f"{copy}/{variant}")
        pathlib.Path(f"{copy}/{variant}/ca.pem").write_text("a certificate\n", encoding="utf-8")
        with open(f"{copy}/{variant}/kustomization.yaml", "w", encoding="utf-8") as file:
            yaml.safe_dump(kustomization, file)
    return copy


def render(copy, variant):
    """As kubectl would apply it."""
    folder = f"overlays/{variant}" if variant in OVERLAYS else variant
    # It ends before its garbage would fill the memory.
    answer = subprocess.run(["kubectl", "kustomize", f"{copy}/{folder}"], capture_output=True, text=True, check=False,
                            env={**os.environ, "GOGC": "off"})
    if answer.returncode or answer.stderr:
        find(variant, answer.stderr.strip())
    return [document for document in yaml.load_all(answer.stdout, LOADER) if document]


def rendered(copy):
    """(name, objects) of every variant."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        names = list(variants())
        yield from zip(names, pool.map(lambda name: render(copy, name), names))


def name_image(documents, entry):
    for document in (d for d in documents if d["kind"] in WORKLOADS):
        for container in document["spec"]["template"]["spec"]["containers"]:
            name, _, tag = container["image"].partition(":")
            if name == entry["name"]:
                container["image"] = f"{entry.get('newName', name)}:{entry.get('newTag', tag)}"


def as_written(folder):
    """The manifests of a kustomization, without patches; ConfigMaps and images as kustomize makes them."""
    documents, kustomization = [], read(f"{folder}/kustomization.yaml")[0]
    for name in kustomization.get("resources", []) + kustomization.get("components", []):
        documents += read(f"{folder}/{name}") if name.endswith(".yaml") else as_written(f"{folder}/{name}")
    for kind, key in (("ConfigMap", "configMapGenerator"), ("Secret", "secretGenerator")):
        for entry in kustomization.get(key, []):
            pairs = [literal.partition("=")[::2] for literal in entry.get("literals", [])]
            pairs += [(os.path.basename(name), "") for name in entry.get("files", [])]
            documents.append({"kind": kind, "metadata": {"name": entry["name"]}, "data": dict(pairs)})
    for entry in kustomization.get("images", []):
        name_image(documents, entry)
    return documents


class Cluster:
    """The objects of one overlay, by kind and name."""

    def __init__(self, overlay, documents):
        self.overlay = overlay
        self.documents = documents
        self.workloads = {d["metadata"]["name"]: d for d in documents if d["kind"] in WORKLOADS}

    def of(self, kind):
        return [d for d in self.documents if d["kind"] == kind]

    def data(self, kind, name):
        """All keys of the maps of that name: an overlay may add to the base's."""
        found = [d.get("data") or d.get("stringData") or {} for d in self.of(kind) if d["metadata"]["name"] == name]
        return {key: value for one in found for key, value in one.items()} if found else None

    def selected(self, labels):
        return [w for w in self.workloads.values() if labels.items() <= labels_of(w).items()]


def labels_of(workload):
    return workload["spec"]["template"]["metadata"]["labels"]


def program_of(workload):
    return workload["spec"]["template"]["spec"]["containers"][0]["name"]


def database_of(workload):
    cell = labels_of(workload).get("cell")
    return f"{cell}-postgres" if cell else "postgres"


def where_of(cluster, document):
    return f"{cluster.overlay}: {document['kind']} {document['metadata']['name']}"
