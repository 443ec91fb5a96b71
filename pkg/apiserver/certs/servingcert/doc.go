// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package servingcert manages the serving certificate of a server that was not configured with one.
//
// Guarantees:
//   - The certificates of all replicas are issued by one CA (package authority). Each replica has its own
//     certificate, and its key never leaves the process.
//   - A certificate is renewed after a third of its validity, and the CA is replaced before the last third of its
//     validity. Neither needs a restart, and clients that trust spec.caBundle trust the server at all times.
//   - spec.caBundle of the APIServices that refer to this server contains the trusted CAs of the Secret; other
//     changes are reverted. APIServices that refer to another server, and those with a cert-manager annotation,
//     are not changed.
package servingcert
