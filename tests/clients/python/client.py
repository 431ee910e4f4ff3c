# SPDX-License-Identifier: Apache-2.0
"""The Python client: lists, a watch, creating, patches of each kind, a Binding, an eviction, metrics, dry runs."""

import sys
import threading
import time
import traceback

from kubernetes import client, config, watch
from kubernetes.client.rest import ApiException

NAMESPACE = "default"


class Failure(Exception):
    pass


def fail(why: str):
    raise Failure(why)


def until(what: str, done, seconds: float = 60):
    deadline = time.monotonic() + seconds
    while not (result := done()):
        if time.monotonic() > deadline:
            fail(f"{what}: did not come about within {seconds} s")
        time.sleep(0.1)
    return result


def pod(name: str, **spec) -> dict:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": name}},
            "spec": {"containers": [{"name": "c", "image": "nginx", "resources": {"requests": {"cpu": "200m"}}}], **spec}}


def watched(core: client.CoreV1Api) -> None:
    """The life of a pod in a watch."""
    phases, begun = [], core.list_namespaced_pod(NAMESPACE).metadata.resource_version

    def follow() -> None:
        stream = watch.Watch()
        for event in stream.stream(core.list_namespaced_pod, NAMESPACE, label_selector="app=seen", resource_version=begun,
                                   timeout_seconds=60):
            phases.append((event["type"], event["object"].status.phase))
            if event["type"] == "DELETED":
                stream.stop()

    thread = threading.Thread(target=follow, daemon=True)
    thread.start()
    core.create_namespaced_pod(NAMESPACE, pod("seen"))
    until("the pod runs", lambda: core.read_namespaced_pod("seen", NAMESPACE).status.phase == "Running")
    core.delete_namespaced_pod("seen", NAMESPACE)
    thread.join(60)
    if not phases or phases[0] != ("ADDED", "Pending") or ("MODIFIED", "Running") not in phases or phases[-1][0] != "DELETED":
        fail(f"the watch told of {phases}")


def patched(apps: client.AppsV1Api, core: client.CoreV1Api) -> None:
    label = {"app": "web"}
    apps.create_namespaced_deployment(NAMESPACE, {
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {"replicas": 1, "selector": {"matchLabels": label},
                 "template": {"metadata": {"labels": label}, "spec": pod("web")["spec"]}}})
    # By default the client sends a strategic merge patch, or a JSON patch if the body is a list.
    apps.patch_namespaced_deployment("web", NAMESPACE, {"spec": {"replicas": 3}})
    until("three pods run", lambda: apps.read_namespaced_deployment("web", NAMESPACE).status.ready_replicas == 3)
    apps.patch_namespaced_deployment("web", NAMESPACE, [{"op": "replace", "path": "/spec/replicas", "value": 2}])
    apps.patch_namespaced_deployment_scale("web", NAMESPACE, {"spec": {"replicas": 2}})
    until("two are left", lambda: len(core.list_namespaced_pod(NAMESPACE, label_selector="app=web").items) == 2)
    if apps.read_namespaced_deployment_scale("web", NAMESPACE).spec.replicas != 2:
        fail("the scale says something else than 2")
    apps.delete_namespaced_deployment("web", NAMESPACE, propagation_policy="Background")
    until("its pods go", lambda: not core.list_namespaced_pod(NAMESPACE, label_selector="app=web").items)


def bound(core: client.CoreV1Api) -> None:
    """Binds like schedulers in Python: the response is a Status instead of a Binding, which the client cannot parse."""
    core.create_namespaced_pod(NAMESPACE, pod("mine", schedulerName="python"))
    node = core.list_node().items[0].metadata.name
    body = client.V1Binding(metadata=client.V1ObjectMeta(name="mine"),
                            target=client.V1ObjectReference(api_version="v1", kind="Node", name=node))
    core.create_namespaced_binding(NAMESPACE, body, _preload_content=False)
    until("it runs there", lambda: core.read_namespaced_pod("mine", NAMESPACE).status.phase == "Running")
    if core.read_namespaced_pod("mine", NAMESPACE).spec.node_name != node:
        fail("the pod is not where it was bound to")
    metrics = client.CustomObjectsApi()
    use = lambda: metrics.list_namespaced_custom_object("metrics.k8s.io", "v1beta1", NAMESPACE, "pods")["items"]
    if until("its metrics", use)[0]["containers"][0]["usage"]["cpu"] != "100000000n":
        fail(f"the pod uses {use()}")
    core.create_namespaced_pod_eviction("mine", NAMESPACE, client.V1Eviction(metadata=client.V1ObjectMeta(name="mine")))
    until("it is evicted", lambda: not core.list_namespaced_pod(NAMESPACE, field_selector="metadata.name=mine").items)


def pages(core: client.CoreV1Api) -> None:
    for i in range(7):
        core.create_namespaced_config_map(NAMESPACE, {"metadata": {"name": f"page-{i}", "labels": {"by": "pages"}}})
    names, token = [], None
    while True:
        page = core.list_namespaced_config_map(NAMESPACE, label_selector="by=pages", limit=3, _continue=token)
        names += [each.metadata.name for each in page.items]
        token = page.metadata._continue
        if not token:
            break
    if names != [f"page-{i}" for i in range(7)]:
        fail(f"pages of ConfigMaps were {names}")
    core.delete_collection_namespaced_config_map(NAMESPACE, label_selector="by=pages")
    core.create_namespaced_config_map(NAMESPACE, {"metadata": {"name": "never"}}, dry_run="All")
    try:
        core.read_namespaced_config_map("never", NAMESPACE)
        fail("a dry run has created something")
    except ApiException as error:
        if error.status != 404 or '"code":404' not in error.body.replace(" ", ""):
            fail(f"what is not there is answered with {error.status}: {error.body}")


def main() -> None:
    config.load_kube_config()
    core = client.CoreV1Api()
    until("three nodes are ready", lambda: sum(
        condition.type == "Ready" and condition.status == "True"
        for node in core.list_node().items for condition in node.status.conditions or []) == 3)
    watched(core)
    patched(client.AppsV1Api(), core)
    bound(core)
    pages(core)


try:
    main()
except Exception as error:  # one line for the table; an unexpected error also has its location
    if not isinstance(error, Failure):
        traceback.print_exc()
    print("python: " + " ".join(str(error).split()))
    sys.exit(1)
