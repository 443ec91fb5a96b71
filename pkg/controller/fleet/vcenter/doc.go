// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package vcenter connects the server to the vCenters that VCenter objects describe, and writes the status of these objects.
//
// Guarantees:
//
//  1. The server connects as spec describes, soon after the object is created, and reconnects when spec changes. The vCenter of
//     the flags is used while no object has the name default. The server does not create VCenter objects.
//  2. A deleted VCenter keeps its finalizer and stays in use as long as it has VMs, unless the flags describe its successor.
//  3. One process manages a vCenter at a time: it connects, and writes the status of the object. There is always a process for
//     the vCenter named default.
//  4. Status is written only if it changes. It has the instance UUID of the first login. No other vCenter is used for the same
//     object.
package vcenter
