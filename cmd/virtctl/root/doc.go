// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package root is the command line of virtctl. It adds the commands, which are packages below verbs.
//
// Guarantees:
//
//  1. virtctl uses the Kubernetes API with the permissions of its user: kubectl can do the same.
//     adopt, check and image import also connect to vCenter, with the account that their flags
//     or the environment name.
//  2. An error is one line on standard error and exit status 1, unless the command's help lists other
//     statuses. With several virtual machines, each is tried and each failure is one line.
//  3. Machine-readable output (-o json, -o yaml) is the only output on standard output.
package root
