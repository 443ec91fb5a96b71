// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package behaviours

import "slices"

// mark describes how a behaviour of KubeVirt applies to vSphere.
type mark string

const (
	unchanged     mark = "unchanged"
	reinterpreted mark = "with a meaning on vSphere of its own"
	// demanded behaviours are those of the proposal. KubeVirt does not have them.
	demanded mark = "new"
	// stored behaviours belong to KVM or pods: the field is stored, with a warning.
	stored mark = "stored and warned of"
	// storedOrReinterpreted is stored with a warning too: vSphere has the feature with another setting.
	storedOrReinterpreted mark = "stored and warned of, or reinterpreted"
)

// behaviour is one line of the table. number is its position.
type behaviour struct {
	number int
	mark   mark
	about  string
}

// all is the whole table.
var all = slices.Concat(references, application, lifecycle)
