#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ./dev release: the files of a release, for one architecture or several, and whether they work.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source=tools/dev/functions.sh
source tools/dev/functions.sh

setup build
machine=$(dpkg --print-architecture)
architectures=() options=() builds=() signing=()
while [ $# -gt 0 ]; do
  case $1 in
    --arch)
      architectures+=("${2:?./dev release --arch: an architecture is missing, as in arm64}")
      shift
      ;;
    --key | --builder-id)
      signing+=("$1" "${2:?./dev release $1: its value is missing}")
      shift
      ;;
    *) options+=("$1") ;;
  esac
  shift
done
# A key that will not do, or changes that are not committed, are said before anything is built.
[ ${#signing[@]} -eq 0 ] || python3 -B tools/release/sign.py "${signing[@]}"
[ ${#architectures[@]} -gt 0 ] || architectures=("$machine")
for architecture in "${architectures[@]}"; do
  case $architecture in
    "$machine")
      tools/release/static_libraries.sh build/static
      build release berth_static >&2
      builds+=(build/release)
      ;;
    arm64)
      setup release-arm64
      mapfile -t libraries < <(packages build | grep '^lib.*-dev$')
      tools/release/sysroot.sh arm64 build/arm64/sysroot "${libraries[@]}"
      tools/release/static_libraries.sh build/arm64/static build/arm64/sysroot
      build release-arm64 berth_static >&2
      builds+=(build/release-arm64)
      ;;
    *)
      echo "./dev release --arch $architecture: made are $machine, and arm64 on amd64" >&2
      exit 2
      ;;
  esac
done
if [[ " ${builds[*]} " != *" build/release "* ]]; then
  build release berth >&2
  options+=(--documents-by build/release/bin/berth)
fi
make_release=(python3 -B tools/release/release.py "${builds[@]}" ${options[@]+"${options[@]}"})
"${make_release[@]}" --out build/release-files
python3 -B tools/release/conformance_report.py build/release-files
if [ ${#signing[@]} -gt 0 ]; then
  python3 -B tools/release/sign.py build/release-files "${signing[@]}"
else
  say "not signed: ./dev release --key KEY.pem signs (docs/verify.md)"
fi
BERTH_RELEASE=build/release-files BERTH_RELEASE_AGAIN="${make_release[*]}" exec python3 -B tests/release/test_release.py
