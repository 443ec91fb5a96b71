// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package guest simulates the guest operating system of virtual machines, as far as vCenter observes it.
//
// Guarantees:
//   - Some time after power-on VMware Tools run, the guest has a host name, and every network card has one IPv4 and
//     one IPv6 address. Addresses are unique per virtual machine and the same at every boot. The heartbeat is green.
//   - Names and addresses from a customization, or from data that cloud-init reads from OVF properties or guestinfo,
//     take precedence.
//   - A customization ends with the boot.
//   - All values arrive as one property update. They are cleared in the update batch that ends the powered-on state.
package guest
