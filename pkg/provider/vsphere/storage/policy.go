// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package storage

import "slices"

// Policy is the storage policy of a StorageClass.
type Policy struct {
	// ID is the profile's ID in vSphere's storage policy service (SPBM). It is empty if there is no policy.
	ID string
	// Name is the name of the storage policy.
	Name string
	// Encrypted is true if the policy requires encryption, for which vCenter needs a key provider.
	Encrypted bool
	// Datastores are the names of the datastores that can have the files. The datastore with the most free space is
	// first. Nil means any datastore.
	Datastores []string
	// Incompatible are the reasons why other datastores cannot have the files, by datastore name.
	Incompatible map[string]string
}

// Holds reports whether the files may be on the datastore.
func (p Policy) Holds(datastore string) bool {
	return p.Datastores == nil || slices.Contains(p.Datastores, datastore)
}

// Resolved is the resolved storage of a virtual machine.
type Resolved struct {
	// Policies are the policies by StorageClass. The empty class is the default. A class that is missing is not
	// resolved.
	Policies map[string]Policy
	// KeyProvider is the ID of vCenter's default key provider. It is empty if there is none.
	KeyProvider string
}
