// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package vcenter lets the server use the vCenters that VCenter objects describe, and
// says in their status what is seen of them.
//
// Guarantees:
//
//  1. A VCenter is used as its spec says, from a moment after it was written, and anew
//     whenever that changes. The one that the flags describe, if they do, is used while no
//     object has its name, and no object is ever made of it: what users declare is theirs.
//  2. A VCenter that is deleted stays, and stays in use, as long as there are virtual
//     machines in it, unless the flags describe what takes its place.
//  3. Of a vCenter one process takes care at a time, which uses it and writes the status
//     of its object. The one named default always has a process, which says that there is
//     none if so.
//  4. Status is written only when something of it is another. It says which installation
//     was logged in to first, and no other one is used under that object.
package vcenter
