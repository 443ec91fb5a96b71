#!/usr/bin/env bash
# Copyright The Slipway Authors.
# SPDX-License-Identifier: Apache-2.0

# Runs a command unless this script already runs one for the same directory, so that two builds do not write the same
# files. A second call prints a message and waits. If flock (util-linux) is not installed, the command runs without a
# lock. Until the command ends, a line is printed every four seconds.
#
# usage: alone.sh directory command [argument...]
set -euo pipefail

directory="$1"
shift
mkdir -p "${directory}"

# report prints how long the command takes. The command inherits the other end of the pipe, so read returns the end of
# the file, and no longer a timeout (a status above 128), when the command ends.
report() {
	local status=0
	while read -rt 4 || status=$?; ((status > 128)); do
		echo "${directory}/: not finished after ${SECONDS} s"
		status=0
	done
}
exec 8> >(report >&2)

if command -v flock >/dev/null; then
	# The command inherits the file descriptor, so the lock is released when the command ends.
	exec 9>"${directory}/.lock"
	if ! flock --nonblock 9; then
		echo "waiting for another make that builds into ${directory}/" >&2
		flock 9
	fi
fi
exec "$@"
