// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package root is the command line of virtctl: it adds the commands, which are packages below verbs.
//
// Guarantees:
//
//  1. virtctl uses the Kubernetes API with the permissions of its user: kubectl can do the same.
//     adopt, check and image import also connect to vCenter, with the account that their flags
//     or the environment name.
//  2. An error is one line on standard error and exit code 1, if the verb's help does
//     not tell of others. With several
//     virtual machines, each is tried and each failure is one line.
//  3. Output for machines (-o json, -o yaml) goes to standard output alone.
package root
