# SPDX-License-Identifier: Apache-2.0
"""kopf: an operator receives the Songs that are created and updates their pods; deleting a Song deletes its pod."""

import subprocess
import sys
import time
import traceback

from kubernetes import client, config
from kubernetes.client.rest import ApiException

GROUP, VERSION, PLURAL, NAMESPACE = "clients.example.com", "v1", "songs", "default"
OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"{PLURAL}.{GROUP}"},
    "spec": {"group": GROUP, "scope": "Namespaced", "names": {"plural": PLURAL, "singular": "song", "kind": "Song"},
             "versions": [{"name": VERSION, "served": True, "storage": True, "schema": {"openAPIV3Schema": {
                 "type": "object", "properties": {"spec": OPEN, "status": OPEN}}}}]}}


class Failure(Exception):
    pass


def fail(why: str):
    raise Failure(why)


def until(what: str, done, operator: subprocess.Popen, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while True:
        try:
            if done():
                return
        except ApiException as error:
            if error.status != 404:
                raise
        if operator.poll() is not None:
            fail(f"{what}: the operator has ended with {operator.returncode}")
        if time.monotonic() > deadline:
            fail(f"{what}: did not come about within {seconds} s")
        time.sleep(0.1)


def main() -> None:
    config.load_kube_config()
    core, custom = client.CoreV1Api(), client.CustomObjectsApi()
    client.ApiextensionsV1Api().create_custom_resource_definition(DEFINITION)
    operator = subprocess.Popen([sys.executable, "-m", "kopf", "run", "--standalone", "--namespace", NAMESPACE, "songs.py"])
    try:
        song = {"apiVersion": f"{GROUP}/{VERSION}", "kind": "Song", "metadata": {"name": "one"}, "spec": {"image": "a"}}
        custom.create_namespaced_custom_object(GROUP, VERSION, NAMESPACE, PLURAL, song)
        get = lambda: custom.get_namespaced_custom_object(GROUP, VERSION, NAMESPACE, PLURAL, "one")
        until("the Song's pod runs", lambda: core.read_namespaced_pod("one", NAMESPACE).status.phase == "Running", operator)
        until("the Song has a status", lambda: get().get("status", {}).get("create", {}).get("pod") == "one", operator)
        owner = core.read_namespaced_pod("one", NAMESPACE).metadata.owner_references[0]
        if (owner.kind, owner.uid) != ("Song", get()["metadata"]["uid"]):
            fail(f"the pod's owner is {owner}")
        custom.patch_namespaced_custom_object(GROUP, VERSION, NAMESPACE, PLURAL, "one", {"spec": {"image": "b"}})
        until("the pod has the new image",
              lambda: core.read_namespaced_pod("one", NAMESPACE).spec.containers[0].image == "b", operator)
        custom.delete_namespaced_custom_object(GROUP, VERSION, NAMESPACE, PLURAL, "one")
        until("the pod goes with its Song", lambda: not core.list_namespaced_pod(NAMESPACE).items, operator, 30)
    finally:
        operator.terminate()
        try:
            operator.wait(20)
        except subprocess.TimeoutExpired:
            operator.kill()


try:
    main()
except Exception as error:  # one line for the table; an unexpected error also has its location
    if not isinstance(error, Failure):
        traceback.print_exc()
    print("kopf: " + " ".join(str(error).split()))
    sys.exit(1)
