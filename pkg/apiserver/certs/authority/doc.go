// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package authority stores a certificate authority (CA) in a Secret of the management cluster and issues certificates
// with it.
//
// Guarantees:
//   - All replicas use one CA. The first replica creates it. An incomplete Secret is an error and is never replaced.
//   - ca.crt contains all trusted CAs. It includes tls.crt, which issues certificates. During a replacement both the
//     old and the new CA are trusted.
//   - Next computes the next step of a replacement from the Secret and the time alone. No step invalidates
//     certificates that were issued before.
//   - Keys are ECDSA P-256. The key of an issued certificate is returned to the caller and not stored.
package authority
