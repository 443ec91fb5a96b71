// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package front stands before the simulated vCenter's HTTP handler: it counts
// calls, and can make the service misbehave for tests.
//
// Guarantees: without an order to misbehave, requests and answers pass
// unchanged; during an outage every connection is closed and no request is
// carried out; after a drop of all sessions every known session is refused until
// its client logs in again; failed logins over SOAP and REST lock an account together.
package front
