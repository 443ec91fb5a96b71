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
//     matter how many calls find it gone at the same time. The version of the API
//     is negotiated at every login, for vCenter may have been upgraded.
//  4. A login to one API holds up no call of the other; every login and every call
//     has a deadline, and who waits for one stops when its context ends.
//  5. At most three logins of both APIs are refused in three minutes, so that a wrong
//     password does not lock the account.
//  6. At most Options.MaxCalls calls run at once. What lasts as long as vCenter's
//     work is not counted, for it would hold a slot for minutes: waiting for property
//     updates, and calls of WithLongREST.
//  7. Reads are repeated after temporary network errors; nothing that changes
//     vSphere is.
package session
