// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pki creates the certificates and keys of a local environment.
//
// Guarantees:
//   - Authorities and the service account key are created once and stored, so certificates that they signed stay
//     valid over restarts. Leaf certificates are issued again on each request.
//   - Every key is ECDSA P-256. Private keys are written with mode 0600 into directories of mode 0700, and are never
//     logged.
//   - A damaged or incomplete authority is an error. It is never replaced silently, because that would invalidate
//     existing kubeconfigs.
package pki
