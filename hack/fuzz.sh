#!/usr/bin/env bash
# Copyright The Slipway Authors.
# SPDX-License-Identifier: Apache-2.0

# Runs every fuzz target of the module for the given time, one after another, and then the soak test of the work
# queue.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
duration="${1:-10s}"
grep -rlE '^func Fuzz[A-Z]' --include='*_test.go' cmd pkg test | sort | while read -r file; do
	grep -oE '^func Fuzz[A-Za-z0-9_]+' "${file}" | cut -d' ' -f2 | while read -r target; do
		echo "fuzzing ${target} in $(dirname "${file}") for ${duration}"
		go test -run '^$' -fuzz "^${target}\$" -fuzztime "${duration}" -fuzzminimizetime 20x "./$(dirname "${file}")"
	done
done

echo "a million reconciles of simulated controllers"
go test -count=1 -timeout 10m -run '^TestSoak$' ./pkg/controller -args -soak-reconciles=1000000
