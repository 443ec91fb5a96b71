#!/usr/bin/env bash
# Copyright The Slipway Authors.
# SPDX-License-Identifier: Apache-2.0

# Writes docs/reference/api.md from the types of the API.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
mkdir -p docs/reference
go run ./hack/api-docs pkg/apis/{vm,instancetype,cluster}/v1alpha1 >docs/reference/api.md
