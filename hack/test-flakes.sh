#!/usr/bin/env bash
# Copyright The Slipway Authors.
# SPDX-License-Identifier: Apache-2.0

# Runs test suites several times in random order on a busy machine: one loop for each core runs at the same time. It
# prints pass or fail of every run and a summary. It fails if a run failed, and keeps the output of failed runs.
#
# usage: test-flakes.sh ROUNDS SUITE..., where SUITE is unit, integration, e2e or operations
set -euo pipefail

if [[ $# -lt 2 || ! $1 =~ ^[1-9][0-9]{0,2}$ ]]; then
	echo "test-flakes.sh: invalid arguments \"$*\": requires a number of rounds from 1 to 999 and at least one suite" >&2
	exit 2
fi
rounds="$1"
shift
for suite in "$@"; do
	case "${suite}" in
	unit | integration | e2e | operations) ;;
	*)
		echo "test-flakes.sh: unknown suite \"${suite}\": must be unit, integration, e2e or operations" >&2
		exit 2
		;;
	esac
done
cd "$(dirname "${BASH_SOURCE[0]}")/.."

logs="$(mktemp -d -t slipway-flakes-XXXXXX)"
load=()
passed=()
failed=()

# busy uses one core until the process $1 has ended, even after SIGKILL.
busy() {
	while kill -0 "$1" 2>/dev/null; do
		for ((i = 0; i < 1000000; i++)); do :; done
	done
}

finish() {
	local status=$?
	trap - EXIT
	((${#load[@]} == 0)) || kill "${load[@]}" 2>/dev/null || true
	echo
	echo "passed: ${#passed[@]}, failed: ${#failed[@]}, of $((rounds * suites)) runs"
	if ((${#failed[@]} > 0)); then
		printf '  FAIL %s\n' "${failed[@]}"
		echo "the output of failed runs is in ${logs}"
		((status != 0)) || status=1
	else
		rm -rf "${logs}"
	fi
	exit "${status}"
}
suites=$#
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# Build before the load starts, because the build is not measured.
make --no-print-directory tools build
for ((core = 0; core < $(nproc); core++)); do
	busy $$ &
	load+=($!)
done
echo "${#load[@]} busy loops run during the tests"

for ((round = 1; round <= rounds; round++)); do
	for suite in "$@"; do
		seed="$(date +%s%N)"
		log="${logs}/${suite}-${round}.log"
		begin="${SECONDS}"
		if make --no-print-directory "test-${suite}" "SEED=${seed}" >"${log}" 2>&1; then
			passed+=("${suite}")
			echo "ok   ${suite} ${round}/${rounds} seed=${seed} $((SECONDS - begin))s"
			rm -f "${log}"
		else
			failed+=("${suite} ${round}/${rounds} seed=${seed}")
			echo "FAIL ${suite} ${round}/${rounds} seed=${seed} $((SECONDS - begin))s"
			grep -E '^ *--- FAIL|^FAIL|^panic:|^make: ' "${log}" | sed 's/^/     /' || true
		fi
	done
done
