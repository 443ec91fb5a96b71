// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package inventory caches the virtual machines of the managed folder. One property collector per vCenter delivers
// the changes.
//
// Guarantees:
//
//  1. A record is complete and immutable: every change creates a new record. The stream delivers each property by
//     its own path. If a required property of a virtual machine is missing, the virtual machine is read again. If the
//     property is still missing, the record has no configuration and has the fault as reason (observe.Trouble).
//  2. Until the first full read is complete, and while the stream is lost, no virtual machine is Absent; its state is
//     Unknown. A lost stream is rebuilt with a new full read. Direct reads in the meantime, for example of a new
//     virtual machine, are kept.
//  3. The server and a local deadline limit every wait for updates. A new login ends the wait, because the server
//     may have lost the session. Deletion of the managed folder ends the stream, which is then rebuilt for the
//     recreated folder.
//  4. The same stream delivers task results. No goroutine polls a virtual machine or a task.
//  5. A virtual machine that leaves the stream is read before its record is removed, because it may have been
//     moved out of the managed folder. Such virtual machines, and all that are read directly, are watched with a list view.
//  6. A direct read that shows a change is repeated with each response of the stream until the stream certainly has
//     the change. The stream may not report objects that appear and disappear between two responses.
package inventory
