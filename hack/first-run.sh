#!/usr/bin/env bash
# Copyright The Slipway Authors.
# SPDX-License-Identifier: Apache-2.0

# Measures the first run of the committed sources, from an empty build cache to the VM of the quick start, in a
# directory whose path contains a space. Then it measures the second run, offline and with GOFLAGS=-mod=mod. It prints
# the wall and processor time of each step without background servers. Go modules are downloaded before the
# measurement.
#
# usage: first-run.sh, on an otherwise idle machine
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
tmp="$(mktemp -d -t slipway-first-run-XXXXXX)"
tree="${tmp}/with a space"
finish() {
	[[ ! -x "${tree}/bin/slipway-dev" ]] || (cd "${tree}" && bin/slipway-dev down >/dev/null 2>&1) || true
	chmod -R u+w "${tmp}"
	rm -rf "${tmp}"
}
trap finish EXIT

TIMEFORMAT='%R s, of processors %U s and %S s in the kernel'
step() {
	echo "== $1"
	shift
	time "$@"
}

go mod download
(cd hack/tools && go mod download)
mkdir -p "${tree}"
git archive HEAD | tar -x -C "${tree}"
cd "${tree}"
export GOCACHE="${tmp}/cache"
total() {
	step "build everything" make --no-print-directory tools build
	step "start, and wait for the VM" bin/slipway-dev up
}
step "the first run" total
bin/slipway-dev down
GOFLAGS="$(go env GOFLAGS) -mod=mod" # other flags would recompile everything
export GOFLAGS GOPROXY=off
step "the second run, offline" total
