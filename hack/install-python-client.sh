#!/usr/bin/env bash
# Copyright The Slipway Authors.
# SPDX-License-Identifier: Apache-2.0

# Finds a Python with the kubernetes client, with which test/e2e runs the example in artifacts/clients/python, and
# writes its path to .cache/python-client. It prefers a virtual environment with the pinned version from PyPI.
# Otherwise it uses an installed version, such as Debian's python3-kubernetes. Without a client the test is reported
# as NOT RUN, which is not a failure.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
requirements=artifacts/clients/python/requirements.txt
venv="${PWD}/.cache/python"
found="${PWD}/.cache/python-client"

has_client() {
	"$1" -c 'import kubernetes.dynamic' >/dev/null 2>&1
}

mkdir -p .cache
if [[ -s ${found} ]] && has_client "$(cat "${found}")"; then
	exit 0
fi
rm -f "${found}"
if ! command -v python3 >/dev/null; then
	echo "NOT RUN: test of the Python client: python3 not found"
	exit 0
fi
log="$(mktemp)"
trap 'rm -f "${log}"' EXIT
if python3 -m venv "${venv}" >"${log}" 2>&1 &&
	"${venv}/bin/pip" install --quiet --disable-pip-version-check --retries 1 --timeout 20 -r "${requirements}" >>"${log}" 2>&1 &&
	has_client "${venv}/bin/python"; then
	echo "${venv}/bin/python" >"${found}"
	exit 0
fi
rm -rf "${venv}"
for python in python3 /usr/bin/python3; do
	if has_client "${python}"; then
		command -v "${python}" >"${found}"
		exit 0
	fi
done
echo "NOT RUN: test of the Python client: installation failed: $(tail -n 1 "${log}")"
