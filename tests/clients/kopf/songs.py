# SPDX-License-Identifier: Apache-2.0
"""An operator that makes a pod for each Song and adopts it."""

import kopf
from kubernetes import client, config


@kopf.on.startup()
def connect(settings: kopf.OperatorSettings, **_):
    settings.posting.enabled = False
    config.load_kube_config()


@kopf.on.create("clients.example.com", "v1", "songs")
def create(spec, name, namespace, **_):
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
           "spec": {"containers": [{"name": "c", "image": spec.get("image", "none")}]}}
    kopf.adopt(pod)
    client.CoreV1Api().create_namespaced_pod(namespace, pod)
    return {"pod": name}


@kopf.on.update("clients.example.com", "v1", "songs", field="spec.image")
def change(new, name, namespace, **_):
    client.CoreV1Api().patch_namespaced_pod(name, namespace, {"spec": {"containers": [{"name": "c", "image": new}]}})
