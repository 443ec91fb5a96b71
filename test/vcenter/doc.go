// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package vcenter is the simulated vCenter of a local environment. It runs govmomi's simulator in a process of its
// own.
//
// Guarantees:
//   - It serves the vim and vapi endpoints over TLS and refuses calls without a login. Its inventory is that of
//     package inventory, with the content library of package contentlibrary and the template virtual machine
//     Template.
//   - Invalid references and values are answered with faults (package strict). A powered-on virtual machine has a
//     guest with addresses (package guest). The cost of property streams depends on the number of changes (package
//     fastcollector).
//   - Changes to virtual machines by other clients (package events) appear consistently in reads, lists, views,
//     searches and streams (package sight). vpxd can be restarted.
//   - With a state directory the changeable inventory survives a stop. A kill loses only the last moment (package
//     saved).
//   - It stops within about a second after its context ends, even if clients wait for answers. It leaves no files
//     except the state.
//
// It is strict from the start where the behaviour of vCenter is documented. If a deployment has a configuration, only
// the disks of the item's descriptor are used. Guests read the data that cloud-init would read, five failed logins
// lock an account, and a conflicting instance UUID is replaced. Versions of the API that are not supported are
// refused only if a test requests it. Objects that were unregistered, hidden or forbidden are not saved.
//
// Datastore files are small and many (five per virtual machine), and are created while locks are held. They are
// stored in /dev/shm if it exists, which is several times as fast as a disk under load, and otherwise in the
// directory for temporary files.
package vcenter
