// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apiservices reads and changes the APIServices through which a management cluster reaches the server.
//
// Guarantees:
//   - A change of an APIService applies only to the version that was read. If another client has changed it, the
//     caller gets a conflict and must read it again.
//   - Only the parts that the caller specifies are changed.
package apiservices
