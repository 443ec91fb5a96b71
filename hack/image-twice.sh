#!/usr/bin/env bash
# Copyright The Slipway Authors.
# SPDX-License-Identifier: Apache-2.0

# Makes the image of what is committed twice, in two checkouts, the second in a path with a
# space and with an empty build cache, and fails unless both have one digest. The second
# compiles everything: some minutes for each platform.
#
# usage: image-twice.sh version platforms
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
tmp="$(mktemp -d -t slipway-image-twice-XXXXXX)"
finish() {
	chmod -R u+w "${tmp}"
	rm -rf "${tmp}"
}
trap finish EXIT

make_image() {
	git clone --quiet --shared . "$1"
	make -C "$1" --no-print-directory image VERSION="$2" PLATFORMS="$3" IMAGE= >&2
	cat "$1/dist/image.digest"
}
first="$(make_image "${tmp}/first" "$@")"
export GOCACHE="${tmp}/cache"
second="$(make_image "${tmp}/a second one" "$@")"
if [[ ${first} != "${second}" ]]; then
	echo "image-twice.sh: the same sources have given ${first} and ${second}" >&2
	exit 1
fi
echo "the same digest twice: ${first}"
