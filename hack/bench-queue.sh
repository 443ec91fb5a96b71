#!/bin/sh
# Copyright The Slipway Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Compares the priority workqueue with controller-runtime's and client-go's and
# prints the ratios beside their targets. Arguments are passed on, such as
# -rounds 7, -match '^wake' or -raw FILE (lines that benchstat reads:
# benchstat -col /queue FILE).
set -eu
cd "$(dirname "$0")/../test/performance/queue"
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT INT TERM
go build -o "$bin/queue" .
"$bin/queue" "$@"
