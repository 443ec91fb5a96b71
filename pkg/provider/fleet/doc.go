// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fleet combines the providers of several vCenters into one provider. Members can be added, replaced and
// removed while virtual machines are reconciled.
//
// The package guarantees:
//
//  1. At most one provider runs per vCenter. The next one starts after the previous one and all of its operations have
//     ended.
//  2. The state of a vCenter's virtual machines is unknown until the configuration of the vCenter is known, and while its
//     provider is replaced. If the vCenter does not exist, the Created condition reports it.
//  3. When the provider of a vCenter is replaced, an event is sent for each virtual machine whose last call failed. The
//     previous provider can no longer send the event that such a virtual machine waited for.
package fleet
