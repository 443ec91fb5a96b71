// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package engine reconciles virtual machines over a driver: it remembers, decides and
// starts; the driver observes and carries out.
//
// Guarantees, beside those of package provider:
//
//  1. There is one record per object under one lock, and at most one operation per
//     object. A pass reads the record before it looks at the virtual machine, and
//     plans only if nothing runs, so that it never decides by what was seen before an
//     operation ended.
//  2. Creates, reconfigurations, changes of power and deletions are bounded, each by
//     itself. Who was refused is called, by priority, in turns between namespaces, as
//     places become free: nobody polls. A namespace that holds half of the places has
//     no turn while others of the priority wait. A place that was offered is kept until the
//     operation starts, the pass ends, or the offer expires.
//  3. A virtual machine that was there and is not shown is missing: it is searched for
//     in the hypervisor itself, nothing is destroyed, and it is made again only if its
//     object says so. While many are missing at once, nothing that had a unique ID is
//     created or deleted.
//  4. The end of every operation is reported over the channel of its start and by a
//     hint. A panic in it becomes its error.
//  5. No operation starts while Options.Permit refuses; passes and what runs go on.
//  6. Run returns when all operations have ended. What the hypervisor still works on
//     then is left to it, and is found by the next process.
//
// An engine has one driver, and nothing in it is global.
package engine
