#!/usr/bin/env bash
# Copyright The Slipway Authors.
# SPDX-License-Identifier: Apache-2.0

# Generates all Go code except protobuf: deep copies, defaults and conversions next to the types; OpenAPI, clients,
# informers and listers in pkg/generated. The generators are those of the code-generator version in go.mod.

set -o errexit -o nounset -o pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)"
cd "${ROOT}"

# Build the generators in the repository and not in the developer's bin directory.
export GOBIN="${ROOT}/_bin"
mkdir -p "${GOBIN}"

MODULE="$(go list -m)"
CODEGEN="$(go list -m -f '{{.Dir}}' k8s.io/code-generator)"
BOILERPLATE="${ROOT}/hack/boilerplate.go.txt"
VIOLATIONS="${ROOT}/hack/openapi-violations.list"
# shellcheck source=/dev/null
source "${CODEGEN}/kube_codegen.sh"

# Kubernetes packages whose types Slipway's types and endpoints use.
KUBE_CODEGEN_READONLY_PKGS+=(k8s.io/api/autoscaling/v1)

# kube_codegen.sh leaves files in the temporary directory.
TMPDIR="$(mktemp -d)"
export TMPDIR
trap 'rm -rf "${TMPDIR}"' EXIT
SCHEMA="${TMPDIR}/schema.json"

kube::codegen::gen_helpers --boilerplate "${BOILERPLATE}" "${ROOT}/pkg/apis"

kube::codegen::gen_openapi \
    --output-dir "${ROOT}/pkg/generated/openapi" \
    --output-pkg "${MODULE}/pkg/generated/openapi" \
    --output-model-name-file zz_generated.model_name.go \
    --extra-pkgs k8s.io/api/autoscaling/v1 \
    --extra-pkgs k8s.io/apimachinery/pkg/util/intstr \
    --report-filename "${VIOLATIONS}" --update-report \
    --boilerplate "${BOILERPLATE}" \
    "${ROOT}/pkg/apis"

go run ./hack/models-schema > "${SCHEMA}"

# The client methods of subresources with a hyphen in the name are written by hand (*_expansion.go), because the
# generators would create invalid identifiers.
kube::codegen::gen_client \
    --with-watch \
    --with-applyconfig \
    --applyconfig-openapi-schema "${SCHEMA}" \
    --output-dir "${ROOT}/pkg/generated" \
    --output-pkg "${MODULE}/pkg/generated" \
    --prefers-protobuf \
    --boilerplate "${BOILERPLATE}" \
    "${ROOT}/pkg/apis"
