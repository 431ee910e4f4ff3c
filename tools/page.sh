#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ./dev page [pictures | quick]: checks and builds the page in web/, and runs its tests, those in a browser too, at last those
# of the program itself with its page. With `pictures` those of the documentation are taken anew. `quick` leaves out the tests of
# the page alone in a browser, and most golden cases: a minute or two, for .ci/run.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=tools/dev/functions.sh
source tools/dev/functions.sh

scripts=(check test test:browser test:real)
case ${1:-} in
  "") ;;
  quick)
    scripts=(check test test:real)
    export BERTH_GOLDEN_CASES=${BERTH_GOLDEN_CASES:-50}
    ;;
  pictures) export BERTH_PAGE_PICTURES=$PWD/docs/img ;;
  *)
    echo "./dev page: ${1@Q} is not known: pictures, quick, or nothing" >&2
    exit 2
    ;;
esac
command -v npm >/dev/null || {
  if [ "${1:-}" = quick ]; then
    say "not tested here: the page, which berth is built without where npm is missing"
    exit 0
  fi
  echo "./dev page needs Node 18 or later with npm, as in Debian's packages nodejs and npm" >&2
  exit 1
}
setup page
# All packages, those of the tests too; a build of berth alone leaves these out.
[ -d web/node_modules/axe-core ] && [ ! web/package-lock.json -nt web/node_modules/.package-lock.json ] ||
  npm ci --prefix web --no-audit --no-fund --loglevel=error
setup build
build release berth
export BERTH_BINARY=$PWD/build/release/bin/berth
for script in "${scripts[@]}"; do
  say "npm run $script"
  npm run --silent --prefix web "$script"
done
