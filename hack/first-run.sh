#!/usr/bin/env bash
# Copyright The Slipway Authors.
# SPDX-License-Identifier: Apache-2.0

# Measures the first run: of what is committed, in a directory of its own whose path has a
# space, with an empty build cache, as far as the VM of the quick start. Then the second
# run, offline and with GOFLAGS=-mod=mod. Prints wall and processor time of each step; that
# of servers in the background does not count. Go modules are downloaded before: their time
# is that of the network.
#
# usage: first-run.sh, on a machine that does nothing else
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
GOFLAGS="$(go env GOFLAGS) -mod=mod" # with other flags all would be compiled anew
export GOFLAGS GOPROXY=off
step "the second run, offline" total
