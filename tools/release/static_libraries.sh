#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Static libraries of what Debian ships as shared ones alone, from Debian's own sources of the same versions (apt checks
# their signatures), for the one binary of a release. Their headers are the installed ones.
#   static_libraries.sh FOLDER [SYSROOT]    makes FOLDER/lib*.a; does nothing when they are there. With SYSROOT
#                                           (tools/release/sysroot.sh) for arm64, and what is installed is what is in it
set -euo pipefail
out=$(realpath -m "$1")
sysroot=
compiler=("${CXX:-g++}")
archiver=ar
if [ $# -gt 1 ]; then
  sysroot=$(realpath "$2")
  export DPKG_ADMINDIR=$sysroot/var/lib/dpkg
  compiler=(aarch64-linux-gnu-g++ "--sysroot=$sysroot")
  archiver=aarch64-linux-gnu-ar
fi

# What is installed, by its source: "fmtlib=9.1.0+ds1-2".
source_of() { dpkg-query -W -f '${source:Package}=${source:Version}' "$1"; }
wanted=$(for package in libfmt-dev libspdlog-dev libsimdjson-dev; do source_of "$package"; echo; done)
[ -f "$out/made-of" ] && [ "$(cat "$out/made-of")" = "$wanted" ] && exit

rm -rf "$out"
mkdir -p "$out/sources" "$out/lists/partial"
echo 'deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian bookworm main' \
  >"$out/sources.list"
apt=(apt-get -qq -o "Dir::Etc::sourcelist=$out/sources.list" -o Dir::Etc::sourceparts=- -o "Dir::State::lists=$out/lists"
  -o APT::Sandbox::User=root)
"${apt[@]}" update
(
  cd "$out/sources"
  # shellcheck disable=SC2086 # one word a package
  "${apt[@]}" source --download-only $wanted >/dev/null
  for archive in *.orig.tar.*; do tar xf "$archive"; done
)

# As berth's own objects are compiled (cmake/berth_toolchain.cmake), without paths of this machine.
flags=(-std=c++20 -O2 -DNDEBUG -fPIE -fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3
  "-ffile-prefix-map=$out=." -ffunction-sections -fdata-sections)
case $("${compiler[@]}" -dumpmachine) in
  x86_64-*) flags+=(-fcf-protection=full) ;;
  aarch64-*) flags+=(-fsigned-char -ffp-contract=off) ;;
esac
[ -z "$sysroot" ] || flags+=("-ffile-prefix-map=$sysroot=")
library() {
  local name=$1 object objects=()
  shift
  while [ "$1" != -- ]; do
    object=$out/$name-$(basename "$1").o
    "${compiler[@]}" "${flags[@]}" "${more[@]}" -c "$1" -o "$object"
    objects+=("$object")
    shift
  done
  rm -f "$out/lib$name.a"
  "$archiver" Dcr "$out/lib$name.a" "${objects[@]}"
}
more=()
library fmt "$out"/sources/fmtlib-*/src/{format,os}.cc --
more=(-DSPDLOG_COMPILED_LIB -DSPDLOG_FMT_EXTERNAL)
library spdlog "$out"/sources/spdlog-*/src/{spdlog,stdout_sinks,color_sinks,file_sinks,async,cfg}.cpp --
# simdjson's sources include each other and headers that are in one when they are installed.
more=(-I"$(echo "$out"/sources/simdjson-*/include)" -I"$(echo "$out"/sources/simdjson-*/src)")
library simdjson "$out"/sources/simdjson-*/src/simdjson.cpp --
rm -rf "$out"/*.o "$out/sources" "$out/lists"
printf '%s\n' "$wanted" >"$out/made-of"
