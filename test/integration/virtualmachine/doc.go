// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package virtualmachine tests the controller of virtual machines between the real
// server and the real provider with a simulated vCenter. Only the host cluster, which
// holds Secrets and revisions, is a fake.
package virtualmachine
