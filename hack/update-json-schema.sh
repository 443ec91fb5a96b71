#!/usr/bin/env bash
# Copyright The Slipway Authors.
# SPDX-License-Identifier: Apache-2.0

# Generates artifacts/schemas/slipway.json, with which editors check manifests, from the OpenAPI definitions in
# pkg/generated.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
mkdir -p artifacts/schemas
go run ./hack/json-schema >artifacts/schemas/slipway.json
