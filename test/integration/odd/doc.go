// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package odd sends invalid and unusual requests to the server: every odd value for every field of every kind, with
// every write verb, and every odd parameter and body with every verb.
//
// Requirements for each answer: the status code is below 500, a refusal names the field, and a refusal costs less
// than maxCost of CPU time (ten times that in short mode). The package is separate because it measures the CPU time
// of its process.
package odd
