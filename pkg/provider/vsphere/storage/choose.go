// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// Datastore is a datastore of a zone.
type Datastore struct {
	// Name and ID (managed object ID) and URL, as vSphere tells them.
	Name, ID, URL string
	// Free is the space that is not in use, in bytes.
	Free int64
	// Unusable is why nothing can be put on it now; empty if something can.
	Unusable string
}

// Need is one part of a virtual machine.
type Need struct {
	// Path of the field that says of which class it is.
	Path string
	// Class is the StorageClass, empty for the default of the zone.
	Class string
	// Bytes are taken at once.
	Bytes int64
	// Home is true for what is made with the virtual machine, from its image: all of that
	// is on one datastore.
	Home bool
}

// NeedsOf are the parts of a new virtual machine: its own files and the disks of its image
// together, and the disks of volumes. Of thin disks no space is counted. image is the size
// of the boot disk of the image in bytes, 0 if it is not known.
func NeedsOf(e *vmv1alpha1.VirtualMachineInstanceSpec, image int64) []Need {
	if e == nil {
		return []Need{{Path: "storageClass", Home: true}}
	}
	out := []Need{{Path: "storageClass", Class: e.StorageClass, Home: true}}
	if b := e.BootDisk; b != nil {
		need := Need{Path: "bootDisk.storageClass", Class: cmp.Or(b.StorageClass, e.StorageClass), Home: true}
		if thick(b.Provisioning) {
			need.Bytes = image
			if b.Capacity != nil {
				need.Bytes = max(image, b.Capacity.Value())
			}
		}
		out = append(out, need)
	}
	for i := range e.Volumes {
		v := &e.Volumes[i]
		if v.Disk == nil {
			continue
		}
		need := Need{Path: "volumes[" + v.Name + "].disk.storageClass", Class: cmp.Or(v.Disk.StorageClass, e.StorageClass)}
		if v.Disk.Capacity != nil && thick(v.Disk.Provisioning) {
			need.Bytes = v.Disk.Capacity.Value()
		}
		out = append(out, need)
	}
	return out
}

func thick(p vmv1alpha1.DiskProvisioning) bool {
	return p == vmv1alpha1.DiskProvisioningThick || p == vmv1alpha1.DiskProvisioningThickEagerZero
}

// Choose returns the datastore that a new virtual machine goes to: of those that can have
// all that is made with it, the one with the most free space. Without one it says of each
// why not; problems names every need that no datastore can meet.
func Choose(needs []Need, policies map[string]Policy, all []Datastore) (home Datastore, problems []string) {
	for _, n := range needs {
		if !slices.ContainsFunc(all, func(d Datastore) bool { return unfit(n, policies[n.Class], d) == "" }) {
			problems = append(problems, fmt.Sprintf("%s: no datastore can be used%s: %s", describe(n), by(policies[n.Class]), reasons(n, policies, all)))
		}
	}
	if len(problems) > 0 {
		return Datastore{}, problems
	}
	found, shared := false, false
	most := int64(0)
	for _, d := range all {
		together, bytes := beside(needs, policies, d)
		shared = shared || together
		if together {
			most = max(most, d.Free)
		}
		if together && bytes <= d.Free && (!found || d.Free > home.Free) {
			home, found = d, true
		}
	}
	switch {
	case found:
		return home, nil
	case shared:
		return Datastore{}, []string{fmt.Sprintf("the disks together need %d MiB at once on one datastore, and at most %d MiB are free", wanted(needs)>>20, most>>20)}
	}
	return Datastore{}, []string{"storageClass, bootDisk.storageClass: no datastore can be used for both, on which the files and the boot disk of a new virtual machine are together"}
}

// beside reports whether all that is made with a virtual machine can be on a datastore, and
// how much is taken there at once: further disks go beside it where their policies let them.
func beside(needs []Need, policies map[string]Policy, d Datastore) (together bool, bytes int64) {
	for _, n := range needs {
		fits := unfit(n, policies[n.Class], d) == ""
		if n.Home && !fits {
			return false, 0
		}
		if fits {
			bytes += n.Bytes
		}
	}
	return true, bytes
}

// wanted is all that is taken at once.
func wanted(needs []Need) (bytes int64) {
	for _, n := range needs {
		bytes += n.Bytes
	}
	return bytes
}

// Usable are the datastores that a policy leaves, those with the most free space first.
func Usable(policy Policy, all []Datastore) []string {
	var fit []Datastore
	for _, d := range all {
		if unfit(Need{}, policy, d) == "" {
			fit = append(fit, d)
		}
	}
	slices.SortStableFunc(fit, func(a, b Datastore) int { return cmp.Compare(b.Free, a.Free) })
	out := make([]string, 0, len(fit))
	for _, d := range fit {
		out = append(out, d.Name)
	}
	return out
}

// unfit is why a datastore cannot have something; empty if it can.
func unfit(n Need, p Policy, d Datastore) string {
	switch why, incompatible := p.Incompatible[d.Name]; {
	case d.Unusable != "":
		return d.Unusable
	case incompatible:
		return why
	case !p.Holds(d.Name):
		return "not one of those that may be used"
	case n.Bytes > d.Free:
		return fmt.Sprintf("%d MiB are needed at once, and %d MiB are free", n.Bytes>>20, d.Free>>20)
	}
	return ""
}

// shown bounds the datastores in a message.
const shown = 5

func reasons(n Need, policies map[string]Policy, all []Datastore) string {
	var out []string
	for _, d := range all[:min(len(all), shown)] {
		out = append(out, d.Name+": "+unfit(n, policies[n.Class], d))
	}
	if more := len(all) - shown; more > 0 {
		out = append(out, fmt.Sprintf("and %d more", more))
	}
	if len(out) == 0 {
		return "there is none"
	}
	return strings.Join(out, "; ")
}

func describe(n Need) string {
	if n.Class == "" {
		return n.Path
	}
	return fmt.Sprintf("%s %q", n.Path, n.Class)
}

func by(p Policy) string {
	if p.Name == "" {
		return ""
	}
	return fmt.Sprintf(" by storage policy %q", p.Name)
}
