#!/usr/bin/env bash
# Copyright The Slipway Authors.
# SPDX-License-Identifier: Apache-2.0

# Writes all generated Go code but protobuf: deep copies, defaulting and
# conversions beside the types; OpenAPI, clients, informers and listers under
# pkg/generated. The generators come from the code-generator version in go.mod.

set -o errexit -o nounset -o pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)"
cd "${ROOT}"

# Generators stay in the tree, out of the developer's own bin directory.
export GOBIN="${ROOT}/_bin"
mkdir -p "${GOBIN}"

MODULE="$(go list -m)"
CODEGEN="$(go list -m -f '{{.Dir}}' k8s.io/code-generator)"
BOILERPLATE="${ROOT}/hack/boilerplate.go.txt"
VIOLATIONS="${ROOT}/hack/openapi-violations.list"
# shellcheck source=/dev/null
source "${CODEGEN}/kube_codegen.sh"

# What our types and endpoints use of Kubernetes' own, which describes itself.
KUBE_CODEGEN_READONLY_PKGS+=(k8s.io/api/autoscaling/v1)

# kube_codegen.sh leaves files behind in the temporary directory.
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

# The subresources whose names hold a hyphen have hand-written client methods
# (*_expansion.go): the generators would make invalid identifiers of them.
kube::codegen::gen_client \
    --with-watch \
    --with-applyconfig \
    --applyconfig-openapi-schema "${SCHEMA}" \
    --output-dir "${ROOT}/pkg/generated" \
    --output-pkg "${MODULE}/pkg/generated" \
    --prefers-protobuf \
    --boilerplate "${BOILERPLATE}" \
    "${ROOT}/pkg/apis"
