#!/usr/bin/env bash
# Copyright The Slipway Authors.
# SPDX-License-Identifier: Apache-2.0

# Generates generated.proto and generated.pb.go next to the versioned types, and the protobuf tags in the types. The
# numbers in these tags are the wire and storage format: never change or reuse a released number.
#
# Requires protoc (Debian: protobuf-compiler). The other tools are built from the versions in go.mod.

set -o errexit -o nounset -o pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)"
cd "${ROOT}"

if ! command -v protoc >/dev/null; then
    echo "update-protobuf.sh: protoc is missing; on Debian: apt-get install protobuf-compiler" >&2
    exit 1
fi

export GOBIN="${ROOT}/_bin"
export PATH="${GOBIN}:${PATH}"
mkdir -p "${GOBIN}"

MODULE="$(go list -m)"
CODEGEN="$(go list -m -f '{{.Dir}}' k8s.io/code-generator)"
TOOLS_VERSION="$(go list -m -f '{{.Version}}' golang.org/x/tools)"

# Run in the module of the generator, so that it uses its own dependencies and adds none to Slipway.
go -C "${CODEGEN}" install ./cmd/go-to-protobuf ./cmd/go-to-protobuf/protoc-gen-gogo
GOGO="$(go -C "${CODEGEN}" list -m -f '{{.Dir}}' github.com/gogo/protobuf)"
GOFLAGS='' go install "golang.org/x/tools/cmd/goimports@${TOOLS_VERSION}"

# The generator reads and writes files by import path below one directory. Outside of GOPATH such a directory must be
# created with links.
TREE="$(mktemp -d)"
trap 'rm -rf "${TREE}"' EXIT
link() { # link <import path> <directory>
    mkdir -p "${TREE}/$(dirname "$1")"
    ln -s "$2" "${TREE}/$1"
}
link "${MODULE}" "${ROOT}"
link k8s.io/apimachinery "$(go list -m -f '{{.Dir}}' k8s.io/apimachinery)"
link github.com/gogo/protobuf "${GOGO}"

# A leading "-" means that the package is only read.
APIMACHINERY="-k8s.io/apimachinery/pkg/util/intstr"
APIMACHINERY+=",-k8s.io/apimachinery/pkg/api/resource"
APIMACHINERY+=",-k8s.io/apimachinery/pkg/runtime/schema"
APIMACHINERY+=",-k8s.io/apimachinery/pkg/runtime"
APIMACHINERY+=",-k8s.io/apimachinery/pkg/apis/meta/v1"

PACKAGES="$(grep -rlE '^// \+k8s:protobuf-gen=package' --include=doc.go pkg/apis |
    LC_ALL=C sort | xargs -n1 dirname | sed "s#^#${MODULE}/#" | paste -sd, -)"

go-to-protobuf \
    --go-header-file "${ROOT}/hack/boilerplate.go.txt" \
    --output-dir "${TREE}" \
    --proto-import "${TREE}" \
    --proto-import "${GOGO}/protobuf" \
    --apimachinery-packages "${APIMACHINERY}" \
    --packages "${PACKAGES}"
