// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package authority keeps an authority of certificates in a Secret of the host cluster, and
// issues certificates of it.
//
// Guarantees:
//   - There is one authority for all replicas: who comes first makes it, and the others take
//     it. One that is not complete is an error and never silently replaced.
//   - What the Secret has in ca.crt is trusted, and tls.crt, which is among it, issues: both
//     the old and the new authority are trusted while all change from one to the other.
//   - Next says the next step of a replacement, if one is due, from the Secret and the time
//     alone. No step makes untrusted what was issued before it.
//   - Keys are ECDSA P-256, and the key of what is issued is nowhere but with its caller.
package authority
