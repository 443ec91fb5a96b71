// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package session maintains one authenticated connection to one vCenter.
//
// Guarantees:
//
//  1. The server's certificate is always verified against a CA, a pinned thumbprint
//     or the system roots. There is no insecure mode.
//  2. Credentials are requested at every login and are not stored. A file or a Secret
//     can therefore change while the process runs.
//  3. A call that fails because the session has ended is repeated once, after one login.
//     Concurrent calls share that login. Every login negotiates the API version, because
//     vCenter may have been upgraded.
//  4. A login to the SOAP API does not block REST calls, and vice versa. Every login and
//     every call has a deadline. A caller stops waiting when its context ends.
//  5. At most three logins, counted over both APIs, are refused in three minutes. A wrong
//     password therefore does not lock the account.
//  6. At most Options.MaxCalls calls run concurrently. Waiting for property updates and
//     calls of WithLongREST are not counted, because they would hold a slot for minutes.
//  7. Reads are repeated after temporary network errors. Calls that change vSphere are not.
package session
