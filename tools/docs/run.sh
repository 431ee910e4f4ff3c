#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ./dev docs: the documentation as a website, with every link checked.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source=tools/dev/functions.sh
source tools/dev/functions.sh

setup build docs
build release berth >&2
python3 -B tools/docs/make_site.py build/release/bin/berth --out build/docs
venv=build/docs/venv
if ! cmp -s tools/docs/requirements.txt "$venv/installed"; then
  say "installing mkdocs-material into $venv"
  rm -rf "$venv"
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --requirement tools/docs/requirements.txt
  cp tools/docs/requirements.txt "$venv/installed"
fi
NO_MKDOCS_2_WARNING=1 "$venv/bin/mkdocs" build --strict --config-file build/docs/mkdocs.yml
say "build/docs/site/docs/start-here.html"
