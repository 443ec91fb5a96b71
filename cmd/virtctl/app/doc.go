// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package app is the command line of virtctl: one verb, one file, one test.
//
// Guarantees:
//
//  1. Nothing but the API of Slipway is used: what virtctl does, kubectl with
//     the same user can do too. One verb talks to vCenter instead, with the account of
//     its user: image import.
//  2. An error is one line on standard error and exit code 1, if the verb's help does
//     not tell of others. With several
//     virtual machines, each is tried and each failure is one line.
//  3. Output for machines (-o json, -o yaml) goes to standard output alone.
package app
