#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ./dev page [pictures]: checks and builds the page in web/, and runs its tests, at last those in a browser. With `pictures`
# those of the documentation are taken anew.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=tools/dev/functions.sh
source tools/dev/functions.sh

case ${1:-} in
  "") ;;
  pictures) export BERTH_PAGE_PICTURES=$PWD/docs/img ;;
  *)
    echo "./dev page: ${1@Q} is not known: pictures, or nothing" >&2
    exit 2
    ;;
esac
command -v npm >/dev/null || {
  echo "./dev page needs Node 18 or later with npm, as in Debian's packages nodejs and npm" >&2
  exit 1
}
setup page
# All packages, those of the tests too; a build of berth alone leaves these out.
[ -d web/node_modules/axe-core ] && [ ! web/package-lock.json -nt web/node_modules/.package-lock.json ] ||
  npm ci --prefix web --no-audit --no-fund --loglevel=error
for script in check test test:browser; do
  say "npm run $script"
  npm run --silent --prefix web "$script"
done
