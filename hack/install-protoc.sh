#!/usr/bin/env bash
# Copyright The Slipway Authors.
# SPDX-License-Identifier: Apache-2.0

# Installs protoc, which only the code generators need, from Debian's package if it is missing.
set -euo pipefail

if command -v protoc >/dev/null; then
	exit 0
fi
if ! command -v apt-get >/dev/null; then
	echo "install-protoc.sh: protoc is missing and this is not Debian; install protobuf-compiler 3.21 or newer" >&2
	exit 1
fi
sudo=()
if [[ ${EUID} -ne 0 ]]; then
	if ! command -v sudo >/dev/null; then
		echo "install-protoc.sh: protoc is missing; as root: apt-get install protobuf-compiler" >&2
		exit 1
	fi
	sudo=(sudo)
fi
echo "installing protobuf-compiler with apt-get"
"${sudo[@]}" apt-get update -qq
"${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends protobuf-compiler >/dev/null
protoc --version
