// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package vcenter is the simulated vCenter of a local environment, a process of
// its own around govmomi's simulator.
//
// Guarantees:
//   - It serves the vim and vapi endpoints over TLS and refuses calls without a
//     login. Its inventory is that of package inventory, with the content library
//     of package contentlibrary and the template virtual machine Template.
//   - Bad references and values are answered with faults (package strict); a
//     powered-on virtual machine gets a guest with addresses (package guest);
//     property streams cost what changes cost (package fastcollector).
//   - What happens to virtual machines behind a client's back (package events) is told
//     the same in reads, lists, views, searches and streams (package sight). vpxd can be
//     restarted.
//   - With a state directory the changeable inventory survives a stop and, but for
//     the last moment, a kill (package saved).
//   - It stops within about a second of the end of its context, whatever its
//     clients wait for, and leaves no files but the state.
//
// It is strict from the start where vCenter is documented to be: a library item's
// descriptor counts for its disks only where a deployment has a configuration, guests
// read what cloud-init would, five failed logins lock an account, an instance UUID in
// conflict is replaced. Versions of the API that are not spoken are refused on order
// only. What was unregistered, hidden or forbidden is not saved.
//
// Datastore files are small and many (five per virtual machine), and are created
// while locks are held: they go to /dev/shm where that exists, which is several
// times as fast as a disk under load, else to the directory for temporary files.
package vcenter
