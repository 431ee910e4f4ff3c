# SPDX-License-Identifier: Apache-2.0
"""berth serve from Python: a hundred lines around the generated client (berth_ask_client).

    berth = Berth("https://berth-serve.kube-system.svc", token=..., ca="ca.crt")
    answer = berth.simulate(open("web.yaml").read())
    if not answer: print(answer.pending())

An Answer is true where the verdict is yes, and holds the document that the command prints with -o json.
"""

import ssl
import time
from typing import Any

import httpx
from berth_ask_client.client import AuthenticatedClient, Client
from berth_ask_client.models import (BuyQuestion, CapacityQuestion, DrainQuestion, ExplainQuestion, File, HeadroomQuestion,
                                     RebalanceQuestion, SimulateQuestion)
from berth_ask_client.api.default import buy, can_drain, capacity, explain, headroom, rebalance_plan, simulate
from berth_ask_client.types import UNSET

# Times that a question is asked again when the server is busy (429) or has not read the cluster yet (503).
TRIES_MAX = 5
WAIT_MAX_S = 30.0


class AskError(Exception):
    """The server has no answer; `status` is HTTP's, the text says why."""

    def __init__(self, status: int, message: str):
        super().__init__(f"{status}: {message}")
        self.status = status


class Answer:
    """The verdict, the warnings and the document of an answer."""

    def __init__(self, response):
        self.verdict: str = response.headers.get("Berth-Verdict", "failed")
        self.warnings: list[str] = [text.split('"', 1)[-1].rstrip('"') for text in response.headers.get_list("Warning")]
        self.document: dict[str, Any] = response.parsed.to_dict()

    def __bool__(self) -> bool:
        return self.verdict == "yes"

    def __getitem__(self, field: str) -> Any:
        return self.document[field]

    def pending(self) -> list[dict[str, Any]]:
        """Of simulate: the new or displaced pods that would stay pending."""
        return [pod for pod in self.document.get("pods", []) if not pod.get("node") and pod.get("origin") != "pending"]


class Berth:
    """A berth serve. `ca`: a file with its authority; None: the system's. `verify=False` trusts anybody."""

    def __init__(self, url: str, token: str = "", ca: str | None = None, verify: bool = True, timeout_s: float = 60.0):
        trust = ssl.create_default_context(cafile=ca) if verify else False
        options = {"base_url": url, "verify_ssl": trust, "timeout": httpx.Timeout(timeout_s)}
        self._client = AuthenticatedClient(token=token, **options) if token else Client(**options)

    def simulate(self, manifests: str = "", *, files: dict[str, str] | None = None, namespace: str = "", add_nodes: int = 0,
                 node_like: str = "", remove_nodes: list[str] | None = None) -> Answer:
        """Where pods of manifests would go."""
        return self._ask(simulate, SimulateQuestion(
            manifests=manifests or UNSET, files=[File(name, text) for name, text in (files or {}).items()] or UNSET,
            namespace=namespace or UNSET, add_nodes=add_nodes or UNSET, node_like=node_like or UNSET,
            remove_nodes=remove_nodes or UNSET))

    def capacity(self, *, cpu: str = "", memory: str = "", like: list[str] | None = None, require: int | None = None) -> Answer:
        """How many more pods of a shape fit."""
        return self._ask(capacity, CapacityQuestion(cpu=cpu or UNSET, memory=memory or UNSET, like=like or UNSET,
                                                    require=UNSET if require is None else require))

    def explain(self, name: str, namespace: str = "default") -> Answer:
        """Why a pod is pending, or where it is."""
        return self._ask(explain, ExplainQuestion(namespace=namespace, name=name))

    def can_drain(self, nodes: list[str], force: bool = False) -> Answer:
        """What a drain of nodes would do."""
        return self._ask(can_drain, DrainQuestion(nodes=nodes, force=force))

    def headroom(self, namespace: str = "", losses: int = 3, require: int | None = None) -> Answer:
        """How many node losses each workload survives."""
        return self._ask(headroom, HeadroomQuestion(namespace=namespace or UNSET, losses=losses,
                                                    require=UNSET if require is None else require))

    def rebalance_plan(self, policy: str) -> Answer:
        """Which pods a DeschedulerPolicy would have moved."""
        return self._ask(rebalance_plan, RebalanceQuestion(policy=policy))

    def buy(self, catalogue: str, manifests: str = "", *, pending: bool = False, max_nodes: int | None = None,
            zones: list[str] | None = None, replace: bool = False) -> Answer:
        """Which nodes to add at the least price."""
        return self._ask(buy, BuyQuestion(catalogue=catalogue, manifests=manifests or UNSET, pending=pending, zones=zones or UNSET,
                                          replace=replace, max_nodes=UNSET if max_nodes is None else max_nodes))

    def _ask(self, question, body) -> Answer:
        for attempt in range(1, TRIES_MAX + 1):
            response = question.sync_detailed(client=self._client, body=body)
            status = int(response.status_code)
            if status == 200:
                return Answer(response)
            if status not in (429, 503) or attempt == TRIES_MAX:
                raise AskError(status, response.parsed.message)
            time.sleep(min(float(response.headers.get("Retry-After", "1")), WAIT_MAX_S))
        raise AssertionError("unreachable")
