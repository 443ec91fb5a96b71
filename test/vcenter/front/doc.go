// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package front wraps the simulated vCenter's HTTP handler. It counts calls and injects failures for tests.
//
// Guarantees:
//   - Without an injected failure, requests and answers pass unchanged.
//   - During an outage every connection is closed and no request is executed.
//   - After all sessions are dropped, requests of a known session are refused until its client logs in again.
//   - Failed logins over SOAP and REST count together towards locking an account.
package front
