// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package placement chooses the zone in which a virtual machine is created.
//
// The package guarantees:
//
//  1. The selection of candidate zones and the choice between them are pure functions.
//  2. A zone is chosen once. The choice is returned again until it is in status, and no create starts before that. A
//     virtual machine that may have been created before zones existed is in the default zone.
//  3. Zones that were chosen for other virtual machines are taken into account before the hypervisor's free resources
//     include these virtual machines.
//  4. No call waits for a hypervisor. Zones are checked in the background, and an event follows.
package placement
