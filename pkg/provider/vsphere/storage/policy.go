// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package storage

import "slices"

// Policy is how the files of a class are kept.
type Policy struct {
	// ID of the profile in vSphere's storage policy service (SPBM); empty for none.
	ID string
	// Name of the storage policy, for people.
	Name string
	// Encrypted is true when the policy encrypts, for which vCenter needs a key provider.
	Encrypted bool
	// Datastores that can have the files, by name, those with the most free space first.
	// Nil is any.
	Datastores []string
	// Incompatible says of others why they cannot, by name.
	Incompatible map[string]string
}

// Holds reports whether the files may be on the datastore of that name.
func (p Policy) Holds(datastore string) bool {
	return p.Datastores == nil || slices.Contains(p.Datastores, datastore)
}

// Known is what was found out about the storage of a virtual machine.
type Known struct {
	// Policies by StorageClass; the empty class is for what names none. A class that is
	// not here was not resolved.
	Policies map[string]Policy
	// KeyProvider is the ID of vCenter's default key provider, empty for none.
	KeyProvider string
}
