#!/usr/bin/env bash
# Copyright The Slipway Authors.
# SPDX-License-Identifier: Apache-2.0

# Fails if a Go file is not formatted by gofmt, or a script does not parse.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
unformatted="$(gofmt -l artifacts cmd hack pkg test)"
if [[ -n ${unformatted} ]]; then
	echo "verify-format.sh: run gofmt -w on:" >&2
	echo "${unformatted}" >&2
	exit 1
fi
for script in hack/*.sh .ci/run; do
	bash -n "${script}"
done
