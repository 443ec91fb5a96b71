#!/usr/bin/env bash
# Copyright The Slipway Authors.
# SPDX-License-Identifier: Apache-2.0

# Makes sure that prometheus and promtool are there, with which the dashboards and alerting rules
# are tested. Unpacks Debian's package into _bin/ when they are missing: installed, it would start
# a server.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
if [[ -x _bin/promtool && -x _bin/prometheus ]] || { command -v promtool && command -v prometheus; } >/dev/null; then
	exit 0
fi
if ! command -v apt-get >/dev/null; then
	echo "install-prometheus.sh: prometheus is missing and this is no Debian; put prometheus and promtool into _bin/" >&2
	exit 1
fi
if ! apt-cache show prometheus >/dev/null 2>&1; then
	echo "install-prometheus.sh: apt does not know the package prometheus; as root: apt-get update" >&2
	exit 1
fi
echo "unpacking Debian's package prometheus into _bin/"
unpacked="$(mktemp -d)"
trap 'rm -rf "${unpacked}"' EXIT
# As root apt would take the rights of _apt, who cannot write there.
(cd "${unpacked}" && apt-get -o APT::Sandbox::User="$(id -un)" download -qq prometheus)
dpkg-deb -x "${unpacked}"/prometheus_*.deb "${unpacked}"
mkdir -p _bin
mv "${unpacked}/usr/bin/prometheus" "${unpacked}/usr/bin/promtool" _bin/
_bin/prometheus --version 2>&1 | head -n 1
