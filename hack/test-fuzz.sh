#!/bin/sh
# Copyright The Slipway Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Runs every fuzz test of the module, one after the other.
# FUZZTIME is the time for each (default 60s); FUZZ_PACKAGES limits the packages.
set -eu
cd "$(dirname "$0")/.."
time=${FUZZTIME:-60s}
for package in $(go list "${FUZZ_PACKAGES:-./pkg/...}"); do
	for test in $(go test -list '^Fuzz' "$package" | grep '^Fuzz' || true); do
		echo "$package $test for $time"
		go test -run '^$' -fuzz "^$test\$" -fuzztime "$time" "$package"
	done
done
