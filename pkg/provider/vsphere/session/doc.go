// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package session keeps one authenticated connection to one vCenter.
//
// Guarantees:
//
//  1. The server's certificate is always verified: by a CA, by a pinned
//     thumbprint, or by the roots of the system. There is no insecure mode.
//  2. Credentials are asked for at every login and never kept, so that a file
//     or a Secret may change while the process runs.
//  3. A call that finds the session gone is repeated once after one login, no
//     matter how many calls find it gone at the same time.
//  4. At most Options.MaxCalls calls run at once; waiting for property updates
//     is not counted, for it would hold a slot for ever.
//  5. Reads are repeated after temporary network errors; nothing that changes
//     vSphere is.
package session
