// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pki makes the certificates and keys of a local environment.
//
// Guarantees:
//   - Authorities and the service account key are made once and kept; what they
//     signed stays valid over restarts. Leaf certificates are cheap and are issued
//     anew whenever they are asked for.
//   - Every key is ECDSA P-256; private keys are written with mode 0600 into
//     directories of mode 0700, and never logged.
//   - A damaged or half-written authority is an error, never silently replaced:
//     replacing it would invalidate kubeconfigs already handed out.
package pki
