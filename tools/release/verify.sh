#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Whether the files of a release are those that the holder of the key signed. Needs openssl and no network.
#
#   verify.sh --key KEY.pub FOLDER            the whole release: each file is there, and is what was signed
#   verify.sh --key KEY.pub FOLDER FILE...    these files of it, beside SHA256SUMS and its signature
#
# KEY.pub comes from elsewhere than the files: whoever can change the files can also change a key that lies beside them.
# The first thing that is wrong ends it with one line and status 1.
set -eu

fail() {
  echo "verify: $*" >&2
  exit 1
}
[ $# -ge 3 ] && [ "$1" = --key ] || {
  echo "usage: verify.sh --key KEY.pub FOLDER [FILE...]" >&2
  exit 2
}
key=$2 folder=$3
shift 3
openssl pkey -pubin -in "$key" -noout 2>/dev/null || fail "$key: not a public key"
key=$(cd "$(dirname "$key")" && pwd)/$(basename "$key")
cd "$folder" || fail "$folder: no such folder"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# decoded FILE TO: base64 in one line, written in the one way that there is, so that no byte of it can change unseen.
decoded() {
  fold -w 64 "$1" | { cat && echo; } | openssl base64 -d >"$2" 2>/dev/null && [ -s "$2" ] &&
    openssl base64 -A -in "$2" | cmp -s - "$1"
}

signed() {
  [ -f "$1" ] || fail "$1 is missing"
  [ -f "$1.sig" ] || fail "$1 has no signature: $1.sig is missing"
  decoded "$1.sig" "$work/signature" || fail "$1.sig is not a signature in base64"
  openssl dgst -sha256 -verify "$key" -signature "$work/signature" "$1" >/dev/null 2>&1 ||
    fail "$1 is not what the holder of this key signed"
}

sum_of() { sha256sum <"$1" | cut -d ' ' -f 1; }

# listed DIGEST FILE: one file of the list, and its signature.
listed() {
  [ -f "$2" ] || fail "$2 is missing"
  [ "$(sum_of "$2")" = "$1" ] || fail "$2 has another SHA-256 than SHA256SUMS says"
  signed "$2"
}

signed SHA256SUMS
if grep -Eqv '^[0-9a-f]{64}  [A-Za-z0-9][A-Za-z0-9._+~-]*$' SHA256SUMS; then
  fail "SHA256SUMS has a line that is not a sum and a name"
fi

if [ $# -gt 0 ]; then
  for file in "$@"; do
    digest=$(awk -v name="$file" '$2 == name {print $1}' SHA256SUMS)
    [ -n "$digest" ] || fail "$file is not in SHA256SUMS"
    listed "$digest" "$file"
  done
  echo "verified: $*"
  exit
fi

while read -r digest file; do listed "$digest" "$file"; done <SHA256SUMS

# The provenance: a DSSE envelope around an in-toto statement. It names each file as well.
set -- *.provenance.dsse.json
[ $# -eq 1 ] && [ -f "$1" ] || fail "want one file *.provenance.dsse.json"
provenance=$1
signed "$provenance"
type=application/vnd.in-toto+json
sed -n 's|^{"payload":"\([A-Za-z0-9+/=]*\)","payloadType":"'"$type"'","signatures":\[{"keyid":"[0-9a-f]*","sig":"[A-Za-z0-9+/=]*"}\]}$|\1|p' \
  "$provenance" | tr -d '\n' >"$work/payload64"
sed -n 's|^.*"sig":"\([A-Za-z0-9+/=]*\)"}\]}$|\1|p' "$provenance" | tr -d '\n' >"$work/signature64"
decoded "$work/payload64" "$work/payload" || fail "$provenance has no payload of type $type"
decoded "$work/signature64" "$work/signature" || fail "$provenance has no signature"
{
  printf 'DSSEv1 %d %s %d ' ${#type} "$type" "$(wc -c <"$work/payload")"
  cat "$work/payload"
} >"$work/signed"
openssl dgst -sha256 -verify "$key" -signature "$work/signature" "$work/signed" >/dev/null 2>&1 ||
  fail "$provenance: its statement is not what the holder of this key signed"
# Lines of the statement: "name": "FILE" and "sha256": "DIGEST", which belong together (tools/release/sign.py writes them so).
sed -n 's/^ *"name": "\([^"/]*\)",\{0,1\}$/name \1/p; s/^ *"sha256": "\([0-9a-f]*\)",\{0,1\}$/sum \1/p' "$work/payload" |
  awk '$1 == "sum" {sum = $2} $1 == "name" {print sum "  " $2}' >"$work/named"
grep -Fxv -f "$work/named" SHA256SUMS >"$work/unnamed" && fail "$(cut -d ' ' -f 3 "$work/unnamed" | head -n 1) is not in $provenance"
while read -r digest file; do
  listed "$digest" "$file"
done <"$work/named"

count=0
for file in *; do
  case $file in
    *.sig) [ -f "${file%.sig}" ] || fail "${file%.sig} is missing, of which there is a signature" ;;
    SHA256SUMS | "$provenance") ;;
    berth-bundle-*.tar) signed "$file" ;;
    *)
      cut -d ' ' -f 3 "$work/named" | grep -Fxq -- "$file" || fail "$file is not of this release"
      count=$((count + 1))
      ;;
  esac
done
commit=$(sed -n 's/^ *"gitCommit": "\([0-9a-f]*\)".*/\1/p' "$work/payload")
echo "verified: $count files of commit $commit, signed by the key sha256:$(openssl pkey -pubin -in "$key" -outform DER | sha256sum | cut -d ' ' -f 1)"
