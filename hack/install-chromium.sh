#!/usr/bin/env bash
# Copyright The Slipway Authors.
# SPDX-License-Identifier: Apache-2.0

# Installs Chromium, which make test-dashboard needs, if it is missing. It installs Debian's package and a font for
# screenshots.
set -euo pipefail

if command -v chromium >/dev/null; then
	exit 0
fi
if ! command -v apt-get >/dev/null; then
	echo "install-chromium.sh: chromium is missing and this is not Debian; install Chromium as chromium in the PATH" >&2
	exit 1
fi
sudo=()
if [[ ${EUID} -ne 0 ]]; then
	if ! command -v sudo >/dev/null; then
		echo "install-chromium.sh: chromium is missing; as root: apt-get install chromium fonts-inter" >&2
		exit 1
	fi
	sudo=(sudo)
fi
echo "installing chromium with apt-get"
"${sudo[@]}" apt-get update -qq
"${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium fonts-inter >/dev/null
chromium --version
