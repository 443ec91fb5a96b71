// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
)

// Exists reports whether an object exists and returns the unique ID in its status. It must not block.
type Exists func(key types.NamespacedName, uid types.UID) (uniqueID string, exists bool)

// Orphan is a virtual machine that does not belong to an existing object.
type Orphan struct {
	driver.Owned
	// CopyOf is the unique ID of the object's own virtual machine; empty if the object does not exist.
	CopyOf string
}

// FindOrphans returns the orphans with respect to the existing objects. known is false while the objects or the
// hypervisor are not read.
type FindOrphans func() (orphans []Orphan, known bool)

// Orphans returns the virtual machines whose object does not exist or has another virtual machine, sorted by namespace
// and name. known is false until the hypervisor is read. Orphans are never changed: the objects may be missing because
// a database was lost, or they may exist in another server.
func (e *Engine) Orphans(exists Exists) (orphans []Orphan, known bool) {
	all, known := e.Owned()
	for _, o := range all {
		id, exists := exists(o.Key, o.UID)
		switch {
		case !exists:
			id = ""
		case id == "" || id == o.UniqueID:
			continue
		}
		orphans = append(orphans, Orphan{Owned: o, CopyOf: id})
	}
	return orphans, known
}

// Owned returns the virtual machines that have an owner, even if that object does not exist, sorted by namespace and
// name. known is false until the hypervisor is read.
func (e *Engine) Owned() (all []driver.Owned, known bool) {
	if !e.driver.IsCurrent() {
		return nil, false
	}
	all = e.driver.Owned()
	slices.SortFunc(all, func(a, b driver.Owned) int {
		return cmp.Or(cmp.Compare(a.Key.Namespace, b.Key.Namespace), cmp.Compare(a.Key.Name, b.Key.Name), cmp.Compare(a.UniqueID, b.UniqueID))
	})
	return all, true
}

// Record returns the object record that is stored in the virtual machine with the given unique ID; empty for none.
func (e *Engine) Record(uniqueID string) string { return e.driver.Record(uniqueID) }
