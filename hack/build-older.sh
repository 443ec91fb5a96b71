#!/usr/bin/env bash
# Copyright The Slipway Authors.
# SPDX-License-Identifier: Apache-2.0

# Builds slipway-apiserver of an older commit or tag into .cache/older/COMMIT/ and prints the path of the program. The
# build cache is shared with the current version.
#
# usage: build-older.sh REVISION
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
commit="$(git rev-parse --verify --quiet "${1:?usage: build-older.sh REVISION}^{commit}")" || {
	echo "build-older: revision ${1} not found" >&2
	exit 1
}
place="${PWD}/.cache/older/${commit}"
if [[ ! -x ${place}/slipway-apiserver ]]; then
	tree="$(mktemp -d)"
	trap 'rm -rf "${tree}"' EXIT
	git archive "${commit}" | tar -x -C "${tree}"
	(cd "${tree}" && go build -ldflags "-s -w" -o "${place}/" ./cmd/slipway-apiserver) >&2
fi
echo "${place}/slipway-apiserver"
