#!/usr/bin/env bash
# Copyright The Slipway Authors.
# SPDX-License-Identifier: Apache-2.0

# Provides prometheus and promtool, which the tests of dashboards and alerting rules need. If they are missing, it
# unpacks Debian's package into _bin/. It does not install the package, because that would start a server.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
if [[ -x _bin/promtool && -x _bin/prometheus ]] || { command -v promtool && command -v prometheus; } >/dev/null; then
	exit 0
fi
if ! command -v apt-get >/dev/null; then
	echo "install-prometheus.sh: prometheus is missing and this is not Debian; put prometheus and promtool into _bin/" >&2
	exit 1
fi
if ! apt-cache show prometheus >/dev/null 2>&1; then
	echo "install-prometheus.sh: apt does not know the package prometheus; as root: apt-get update" >&2
	exit 1
fi
echo "unpacking Debian's package prometheus into _bin/"
unpacked="$(mktemp -d)"
trap 'rm -rf "${unpacked}"' EXIT
# As root, apt would use the permissions of _apt, which cannot write there.
(cd "${unpacked}" && apt-get -o APT::Sandbox::User="$(id -un)" download -qq prometheus)
dpkg-deb -x "${unpacked}"/prometheus_*.deb "${unpacked}"
mkdir -p _bin
mv "${unpacked}/usr/bin/prometheus" "${unpacked}/usr/bin/promtool" _bin/
_bin/prometheus --version 2>&1 | head -n 1
