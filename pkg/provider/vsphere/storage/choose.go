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
	// Name, ID (managed object ID) and URL are vSphere's values.
	Name, ID, URL string
	// Free is the free space in bytes.
	Free int64
	// Unusable is why the datastore cannot be used now. It is empty if it can be used.
	Unusable string
}

// Need is the storage need of one part of a virtual machine.
type Need struct {
	// Path is the field that sets the storage class.
	Path string
	// Class is the StorageClass. Empty means the zone's default.
	Class string
	// Bytes is the space that is allocated immediately.
	Bytes int64
	// Home is true for parts that are created with the virtual machine. They are all on one datastore.
	Home bool
}

// NeedsOf returns the needs of a new virtual machine: its own files together with the image's disks, and the disks
// of volumes. Thin disks need no space. image is the size of the image's boot disk in bytes, 0 if it is not known.
func NeedsOf(e *vmv1alpha1.VirtualMachineInstanceSpec, image int64) []Need {
	if e == nil {
		return []Need{{Path: "storageClass", Home: true}}
	}
	out := []Need{{Path: "storageClass", Class: e.StorageClass, Home: true}}
	if b := e.BootDisk; b != nil {
		need := Need{Path: "bootDisk.storageClass", Class: cmp.Or(b.StorageClass, e.StorageClass), Home: true}
		if isThick(b.Provisioning) {
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
		if v.Disk.Capacity != nil && isThick(v.Disk.Provisioning) {
			need.Bytes = v.Disk.Capacity.Value()
		}
		out = append(out, need)
	}
	return out
}

func isThick(p vmv1alpha1.DiskProvisioning) bool {
	return p == vmv1alpha1.DiskProvisioningThick || p == vmv1alpha1.DiskProvisioningThickEagerZero
}

// Choose returns the datastore for a new virtual machine: the one with the most free space of those that can have
// all parts created with it. If there is none, problems has the reasons for each need that no datastore can meet.
func Choose(needs []Need, policies map[string]Policy, all []Datastore) (home Datastore, problems []string) {
	for _, n := range needs {
		if !slices.ContainsFunc(all, func(d Datastore) bool { return obstacle(n, policies[n.Class], d) == "" }) {
			problems = append(problems, fmt.Sprintf("%s: no datastore can be used%s: %s", describe(n), policySuffix(policies[n.Class]), reasons(n, policies, all)))
		}
	}
	if len(problems) > 0 {
		return Datastore{}, problems
	}
	found, shared := false, false
	most := int64(0)
	for _, d := range all {
		together, bytes := colocate(needs, policies, d)
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
		return Datastore{}, []string{fmt.Sprintf("the disks together require %d MiB on one datastore, but at most %d MiB are free", totalBytes(needs)>>20, most>>20)}
	}
	return Datastore{}, []string{"storageClass, bootDisk.storageClass: no datastore is allowed for both, but the files and the boot disk of a new virtual machine must be on one datastore"}
}

// colocate reports whether all parts created with a virtual machine can be on a datastore, and the space that is
// allocated there immediately. Other disks are on the same datastore if their policies allow it.
func colocate(needs []Need, policies map[string]Policy, d Datastore) (together bool, bytes int64) {
	for _, n := range needs {
		fits := obstacle(n, policies[n.Class], d) == ""
		if n.Home && !fits {
			return false, 0
		}
		if fits {
			bytes += n.Bytes
		}
	}
	return true, bytes
}

// totalBytes returns the space that is allocated immediately.
func totalBytes(needs []Need) (bytes int64) {
	for _, n := range needs {
		bytes += n.Bytes
	}
	return bytes
}

// Usable returns the datastores that a policy allows. The datastore with the most free space is first.
func Usable(policy Policy, all []Datastore) []string {
	var fit []Datastore
	for _, d := range all {
		if obstacle(Need{}, policy, d) == "" {
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

// obstacle returns why a datastore cannot meet a need, or an empty string.
func obstacle(n Need, p Policy, d Datastore) string {
	switch why, incompatible := p.Incompatible[d.Name]; {
	case d.Unusable != "":
		return d.Unusable
	case incompatible:
		return why
	case !p.Holds(d.Name):
		return "not allowed by the zone or storage class"
	case n.Bytes > d.Free:
		return fmt.Sprintf("requires %d MiB, but only %d MiB are free", n.Bytes>>20, d.Free>>20)
	}
	return ""
}

// maxReasons is the maximum number of datastores in a message.
const maxReasons = 5

func reasons(n Need, policies map[string]Policy, all []Datastore) string {
	var out []string
	for _, d := range all[:min(len(all), maxReasons)] {
		out = append(out, d.Name+": "+obstacle(n, policies[n.Class], d))
	}
	if more := len(all) - maxReasons; more > 0 {
		out = append(out, fmt.Sprintf("and %d more", more))
	}
	if len(out) == 0 {
		return "there are no datastores"
	}
	return strings.Join(out, "; ")
}

func describe(n Need) string {
	if n.Class == "" {
		return n.Path
	}
	return fmt.Sprintf("%s %q", n.Path, n.Class)
}

func policySuffix(p Policy) string {
	if p.Name == "" {
		return ""
	}
	return fmt.Sprintf(" by storage policy %q", p.Name)
}
