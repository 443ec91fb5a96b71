#!/usr/bin/env bash
# Copyright The Slipway Authors.
# SPDX-License-Identifier: Apache-2.0

# Builds the image of the committed sources twice, in two checkouts, the second in a path with a space and with an
# empty build cache. Fails unless both have the same digest. The second build compiles everything and takes some
# minutes for each platform.
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
	echo "image-twice.sh: the same sources result in ${first} and ${second}" >&2
	exit 1
fi
echo "both builds have the digest ${first}"
