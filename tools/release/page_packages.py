#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which packages of npm are in the page that a program carries (web/), and which built it, by web/package-lock.json."""

import base64
import json

# Dependencies of web/package.json that make the page and are not in it.
TOOLS = {"esbuild"}


class Refused(Exception):
    """One line on what is wrong."""


def is_in_program(source):
    """Whether this source, written by cmake/embed_page.py, has a page in it."""
    return "app.js" in source


def packages(manifest, lock):
    """By name: version, licence, SHA-512 in hexadecimal, package URL. `manifest`, `lock`: texts of npm's two files."""
    locked, found = json.loads(lock)["packages"], {}
    for name, version in json.loads(manifest)["dependencies"].items():
        entry = locked.get(f"node_modules/{name}")
        if entry is None or entry["version"] != version:
            raise Refused(f"web/package-lock.json does not have {name} {version}: npm install --prefix web")
        algorithm, _, digest = entry["integrity"].partition("-")
        if algorithm != "sha512" or "license" not in entry:
            raise Refused(f"web/package-lock.json says no SHA-512 or no licence of {name}")
        found[name] = {"version": version, "licence": entry["license"], "sha512": base64.b64decode(digest).hex(),
                       "url": f"pkg:npm/{name.replace('@', '%40')}@{version}"}
    return found


def shipped(manifest, lock):
    """Those in the page. One that brings others of its own is refused, since they would be in it unnamed."""
    found = {name: each for name, each in packages(manifest, lock).items() if name not in TOOLS}
    locked = json.loads(lock)["packages"]
    for name in found:
        if more := locked[f"node_modules/{name}"].get("dependencies"):
            raise Refused(f"{name} of the page needs {sorted(more)[0]}, and the bill of materials would not name it")
    return found
