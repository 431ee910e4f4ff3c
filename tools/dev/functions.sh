# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What ./dev and the scripts behind it share: packages, the services of tests, and builds. Sourced, in the root folder.
# For the presets with a precompiled header: without it ccache keeps nothing of theirs.
export CCACHE_SLOPPINESS=pch_defines,time_macros
# What one clone has compiled serves the others: paths are hashed as they are from the root.
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1

say() { printf '\033[1m%s\033[0m\n' "$*" >&2; }

# The packages of a section of tools/packages.txt.
packages() { awk -v want="[$1]" '/^\[/ {on = ($1 == want)} on && /^[a-z]/ {print $1}' tools/packages.txt; }

setup() {
  local missing=() package section
  for section in "$@"; do
    for package in $(packages "$section"); do
      dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
    done
  done
  [ ${#missing[@]} -eq 0 ] && return
  local root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || {
      echo "missing packages: ${missing[*]}: install them as root, or install sudo" >&2
      exit 1
    }
    root=(sudo)
  fi
  say "installing ${missing[*]}"
  "${root[@]}" apt-get update -qq
  "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# The programs of the section [services], unpacked and not installed: their packages would start daemons.
services() {
  local root=build/services package
  mkdir -p "$root/packages"
  for package in $(packages services); do
    [ ! -e "$root/packages/$package.done" ] || continue
    say "unpacking $package into $root"
    # Said step by step: inside `if services` the shell does not end at a failure by itself.
    (
      cd "$root/packages" || exit 1
      apt-get download -qq "$package" 2>/dev/null || {
        # No lists, or old ones.
        if [ "$(id -u)" -eq 0 ]; then apt-get update -qq; else sudo apt-get update -qq; fi
        apt-get download -qq "$package" || exit 1
      }
      dpkg -x "$package"_*.deb .. && rm "$package"_*.deb && touch "$package.done"
    ) || return 1
  done
}

# What builds the page into berth: Node's packages in web/, as its lock file has them. Without npm, or where they do not
# come soon, berth is built without its page.
page_packages() {
  [ -f web/package-lock.json ] || return 0
  [ web/package-lock.json -nt web/node_modules/.package-lock.json ] || return 0
  if ! command -v npm >/dev/null; then
    say "berth is built without its page: npm is missing (docs/page.md)"
  elif ! timeout 30 npm ci --omit=dev --prefix web --no-audit --no-fund --loglevel=error >&2; then
    say "berth is built without its page: npm could not fetch what web/package-lock.json names"
  fi
}

# build PRESET [-DNAME=VALUE...] [TARGET...]: configures, which also puts new sources into groups, and builds.
build() {
  local preset=$1 options=()
  shift
  while [[ ${1:-} == -D* ]]; do
    options+=("$1")
    shift
  done
  local log="build/$preset-configure.log"
  mkdir -p build
  [ "$preset" != release ] || page_packages
  cmake --preset "$preset" ${options[@]+"${options[@]}"} >"$log" 2>&1 || {
    cat "$log" >&2
    exit 1
  }
  cmake --build "build/$preset" ${1:+--target "$@"}
}

# What the tests of the last run say that they skipped, a line each.
left_out() {
  awk '
    /^[0-9]+\/[0-9]+ Test: / {test = $3}
    /\.\.\. skipped / {sub(/ \(.*\.\.\. skipped/, ": skipped,"); print "  " test ": " $0}
    /^\[  SKIPPED \] [^0-9]+ \(/ {print "  " test ": " $4}
  ' "build/$1/Testing/Temporary/LastTest.log" >"build/$1/left-out"
  [ -z "${2:-}" ] || echo "  $2" >>"build/$1/left-out"
  if [ -s "build/$1/left-out" ]; then
    say "not tested here:"
    cat "build/$1/left-out" >&2
  fi
}
