#!/bin/sh
# Copyright The Slipway Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Installed as kubectl_complete-PLUGIN in PATH. kubectl runs it to complete "kubectl PLUGIN ...".
exec "kubectl-${0##*kubectl_complete-}" __complete "$@"
