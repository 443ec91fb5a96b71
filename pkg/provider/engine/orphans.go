// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
)

// Exists is true for an object that exists, and returns the unique ID of its status. It must
// not block.
type Exists func(key types.NamespacedName, uid types.UID) (uniqueID string, exists bool)

// Orphan is a virtual machine that is not that of an object which exists.
type Orphan struct {
	driver.Owned
	// CopyOf is the unique ID of the virtual machine that the object has; empty if there is no
	// object.
	CopyOf string
}

// FindOrphans returns Orphans over the objects that there are; known is false also while
// these are not read.
type FindOrphans func() (orphans []Orphan, known bool)

// Orphans lists the virtual machines that belong to an object which does not exist, or which
// has another virtual machine, by namespace and name. known is false while the hypervisor is
// not read, and nothing can be said. Nothing is done to an orphan: an object may be gone because
// a store was lost, and another server may have the object.
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

// Owned lists the virtual machines that belong to objects, whether these exist or not, by
// namespace and name. known is false while the hypervisor is not read.
func (e *Engine) Owned() (all []driver.Owned, known bool) {
	if !e.driver.Synced() {
		return nil, false
	}
	all = e.driver.Owned()
	slices.SortFunc(all, func(a, b driver.Owned) int {
		return cmp.Or(cmp.Compare(a.Key.Namespace, b.Key.Namespace), cmp.Compare(a.Key.Name, b.Key.Name), cmp.Compare(a.UniqueID, b.UniqueID))
	})
	return all, true
}

// Record is the text of the record that the virtual machine of a unique ID keeps of its
// object; empty for none.
func (e *Engine) Record(uniqueID string) string { return e.driver.Record(uniqueID) }
