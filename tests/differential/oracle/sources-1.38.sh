#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# sources-1.38.sh FOLDER: fills FOLDER with the modules from which kubernetes-1.38.mod builds with Go 1.26; oracle.sh calls
# it. The modules of 1.38.0-beta.0 want Go 1.27: here are copies of them that say 1.26. GOEXPERIMENT=jsonv2 brings what else
# they need of the standard library, but for crypto/mldsa, whose keys are never met here. With Go 1.27, kubernetes-1.38.mod
# should name the modules instead. Empty modules stand for those that the module proxy refuses ($refused); no package that
# the oracle imports is in one.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=${1:?sources-1.38.sh: the folder to fill is missing}
cache=$(cd / && go env GOMODCACHE)
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"
folder=$PWD
refused=' apiextensions-api ktesting sample-cli-plugin sample-controller '

# copy MODULE VERSION FOLDER [PART...]: `go mod download` fetches a module and then complains of its go directive.
copy() {
  local from=$cache/$1@$2 to=$3
  shift 3
  mkdir "$to"
  if [[ $refused == *" $to "* ]]; then
    printf 'module %s\n\ngo 1.26.0\n' "k8s.io/$to" >"$to/go.mod"
    return
  fi
  [[ -d $from ]] || (cd / && go mod download "${from#"$cache/"}" >"$folder/$to/download.log" 2>&1) || true
  if [[ ! -d $from ]]; then
    echo "sources-1.38.sh: ${from#"$cache/"} cannot be had: $(tail -n 1 "$to/download.log")" >&2
    exit 1
  fi
  rm -f "$to/download.log"
  if (($# > 0)); then (cd "$from" && cp -r "$@" "$folder/$to/"); else cp -r "$from/." "$to/"; fi
  chmod -R u+w "$to"
  sed -i 's/^go 1\.27.*/go 1.26.0/; s/^godebug default=go1\.27/godebug default=go1.26/' "$to/go.mod"
}

copy k8s.io/kubernetes v1.38.0-beta.0 kubernetes go.mod go.sum pkg plugin third_party cmd
for name in $(sed -nE 's#^\tk8s\.io/([a-z0-9-]+) => \./src-1\.38/.*#\1#p' "$here/kubernetes-1.38.mod"); do
  case $name in
    kubernetes) ;;
    kube-openapi) copy k8s.io/kube-openapi v0.0.0-20261014044854-ca3452a79603 kube-openapi ;;
    *) copy "k8s.io/$name" v0.38.0-beta.0 "$name" ;;
  esac
done
copy sigs.k8s.io/structured-merge-diff/v7 v7.0.0 structured-merge-diff # 7.0.1 is refused

cd client-go/util/keyutil
sed -i -e '/"crypto\/mldsa"/d' -e 's/mldsa\.PrivateKey/mldsaPrivateKey/g; s/mldsa\.PublicKey/mldsaPublicKey/g' key.go
cat >mldsa_none.go <<'GO'
package keyutil

type mldsaPrivateKey struct{}
type mldsaPublicKey struct{}

func (*mldsaPrivateKey) PublicKey() *mldsaPublicKey { return nil }
GO
