#!/usr/bin/env bash
# Copyright The Slipway Authors.
# SPDX-License-Identifier: Apache-2.0

# Runs a command while nobody else runs one by this script for the same directory, so that two
# builds at once do not write the same files. Who comes second is told so, and waits. Where
# flock (util-linux) is missing the command runs all the same.
#
# usage: alone.sh directory command [argument...]
set -euo pipefail

directory="$1"
shift
mkdir -p "${directory}"
if command -v flock >/dev/null; then
	# The command keeps the file open: the lock ends with it, however that ends.
	exec 9>"${directory}/.lock"
	if ! flock --nonblock 9; then
		echo "another make builds into ${directory}/: waiting until it is done" >&2
		flock 9
	fi
fi
exec "$@"
