#!/usr/bin/env bash
# Copyright The Slipway Authors.
# SPDX-License-Identifier: Apache-2.0

# Fails if the generated files, including uncommitted ones, differ from the output of the generators. It works on a
# copy and changes nothing.

set -o errexit -o nounset -o pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)"
COPY="$(mktemp -d)"
trap 'rm -rf "${COPY}"' EXIT

mkdir -p "${ROOT}/_bin" "${COPY}/pkg"
cp -a "${ROOT}/go.mod" "${ROOT}/go.sum" "${ROOT}/hack" "${COPY}/"
cp -a "${ROOT}/pkg/apis" "${ROOT}/pkg/generated" "${COPY}/pkg/"
# Use generators that are already built.
ln -s "${ROOT}/_bin" "${COPY}/_bin"
# Remove generated files, so that files that are no longer generated are reported.
find "${COPY}/pkg/apis" -name 'zz_generated.*.go' -delete

# Run protobuf first, because it writes tags into the types that the other generators read.
"${COPY}/hack/update-protobuf.sh" >"${COPY}/log" 2>&1 &&
    "${COPY}/hack/update-codegen.sh" >>"${COPY}/log" 2>&1 &&
    "${COPY}/hack/update-api-docs.sh" >>"${COPY}/log" 2>&1 &&
    "${COPY}/hack/update-json-schema.sh" >>"${COPY}/log" 2>&1 || {
    cat "${COPY}/log" >&2
    echo "verify-codegen.sh: a generator failed" >&2
    exit 1
}

failed=0
for path in pkg/apis pkg/generated hack/openapi-violations.list docs/reference/api.md artifacts/schemas; do
    diff -Nupr "${ROOT}/${path}" "${COPY}/${path}" || failed=1
done
if [ "${failed}" -ne 0 ]; then
    echo "verify-codegen.sh: generated files are out of date; run make generate" >&2
    exit 1
fi
echo "verify-codegen.sh: generated files are up to date"
