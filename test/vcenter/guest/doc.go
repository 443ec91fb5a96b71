// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package guest gives the virtual machines of the simulated vCenter a guest
// operating system, as far as vCenter sees one.
//
// Guarantees: some time after power-on VMware Tools run, the guest has a host
// name, and every network card one IPv4 and one IPv6 address, unique per
// virtual machine and the same at every boot; the heartbeat is green. What a
// customization has set, name and addresses, stays instead, and so does what cloud-init
// reads from OVF properties or guestinfo. A customization ends with the boot. All of it
// arrives as one property update, and is cleared in the same update batch as
// the end of the powered-on state.
package guest
