// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package servingcert manages the serving certificate of a server to whom nobody gave one.
//
// Guarantees:
//   - All replicas have certificates of one authority (package authority), each its own, whose
//     key never leaves the process.
//   - A certificate is renewed when a third of its time has passed, and the authority is
//     replaced while it has a third of its time, both without a restart and without a moment
//     in which who trusts spec.caBundle does not trust what is served.
//   - spec.caBundle of the APIServices that lead to this server is what the Secret trusts;
//     whatever somebody else writes there is set right. Those that lead elsewhere, and those
//     that cert-manager is told to fill, are left alone.
package servingcert
