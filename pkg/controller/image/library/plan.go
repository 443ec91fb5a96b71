// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package library

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// mostListed is how many images status names of each kind of trouble.
const mostListed = 64

// scene is what a plan is made of.
type scene struct {
	library *vmv1alpha1.ContentLibrary
	// items are all that vSphere has in it.
	items []provider.LibraryItem
	// images are all that have the kind and the namespace of those of the library, by name.
	images map[string]*vmv1alpha1.VirtualMachineImage
	// used is true for an image that a virtual machine refers to.
	used func(name string) bool
}

// plan is what makes the images those of the items.
type plan struct {
	create []*vmv1alpha1.VirtualMachineImage
	// update has new labels.
	update []*vmv1alpha1.VirtualMachineImage
	delete []*vmv1alpha1.VirtualMachineImage
	// status without conditions.
	status vmv1alpha1.ContentLibraryStatus
}

// makePlan decides. It is the same whatever the order of the items is.
func makePlan(s scene) plan {
	p := plan{status: vmv1alpha1.ContentLibraryStatus{Items: count(s.items)}}
	published := publishedItems(&s.library.Spec, s.items)
	made := map[string]*vmv1alpha1.VirtualMachineImage{} // by item
	for _, name := range slices.Sorted(maps.Keys(s.images)) {
		image := s.images[name]
		if image.Labels[vmv1alpha1.LabelContentLibrary] != s.library.Name || image.Spec.ContentLibrary == nil {
			continue
		}
		_, there := slices.BinarySearch(published, image.Spec.ContentLibrary.Item)
		switch {
		case there && made[image.Spec.ContentLibrary.Item] == nil:
			made[image.Spec.ContentLibrary.Item] = image
		case s.used(name):
			p.status.Images++
			p.status.Kept = append(p.status.Kept, name)
		default:
			p.delete = append(p.delete, image)
		}
	}
	p.status.Kept = p.status.Kept[:min(len(p.status.Kept), mostListed)]
	taken := maps.Clone(s.images)
	for _, item := range published {
		wanted := imageName(s.library, item)
		image := made[item]
		if image == nil {
			image = newImage(s.library, item, free(taken, wanted, item))
			taken[image.Name] = image
			p.create = append(p.create, image)
		} else if next := labelled(&s.library.Spec, image); next != nil {
			p.update = append(p.update, next)
		}
		p.status.Images++
		if image.Name != wanted && len(p.status.Renamed) < mostListed {
			p.status.Renamed = append(p.status.Renamed, vmv1alpha1.ContentLibraryRenamed{Item: item, Image: image.Name, Wanted: wanted})
		}
	}
	return p
}

// keepAll keeps the images whose items were not seen.
func (p *plan) keepAll() {
	p.status.Images += int32(len(p.delete))
	p.delete = nil
}

// count is the number of items, of which those of one name in several vCenters are one.
func count(items []provider.LibraryItem) int32 {
	first := map[string]string{} // vCenters by name
	n := int32(0)
	for i := range items {
		vcenter, had := first[items[i].Name]
		if !had {
			first[items[i].Name] = items[i].VCenter
		}
		if !had || vcenter == items[i].VCenter {
			n++
		}
	}
	return n
}

// publishedItems are the names of the items that have an image, each once, sorted.
func publishedItems(spec *vmv1alpha1.ContentLibrarySpec, items []provider.LibraryItem) []string {
	var names []string
	for _, item := range items {
		if item.IsImage() && (len(spec.Include) == 0 || matchesAny(spec.Include, item.Name)) && !matchesAny(spec.Exclude, item.Name) {
			names = append(names, item.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// newImage is the image of an item.
func newImage(library *vmv1alpha1.ContentLibrary, item, name string) *vmv1alpha1.VirtualMachineImage {
	image := &vmv1alpha1.VirtualMachineImage{}
	image.Name, image.Namespace = name, library.Spec.Namespace
	image.Labels = map[string]string{vmv1alpha1.LabelContentLibrary: library.Name}
	image.Spec.ContentLibrary = &vmv1alpha1.ContentLibraryImageSource{Library: library.Spec.Library, Item: item}
	return image
}

// labelled is image with the labels of the first default that fits its guest operating
// system, nil if it has them. What somebody else has labelled where none fits stays.
func labelled(spec *vmv1alpha1.ContentLibrarySpec, image *vmv1alpha1.VirtualMachineImage) *vmv1alpha1.VirtualMachineImage {
	i := slices.IndexFunc(spec.Defaults, func(d vmv1alpha1.ContentLibraryDefault) bool {
		return image.Status.GuestID != "" && matches(d.GuestID, image.Status.GuestID)
	})
	if i < 0 {
		return nil
	}
	d := spec.Defaults[i]
	next := image.DeepCopy()
	for key, value := range map[string]string{
		vmv1alpha1.LabelDefaultInstancetype: d.Instancetype, vmv1alpha1.LabelDefaultInstancetypeKind: d.InstancetypeKind,
		vmv1alpha1.LabelDefaultPreference: d.Preference, vmv1alpha1.LabelDefaultPreferenceKind: d.PreferenceKind,
	} {
		if value == "" {
			delete(next.Labels, key)
			continue
		}
		next.Labels[key] = value
	}
	if maps.Equal(next.Labels, image.Labels) {
		return nil
	}
	return next
}

// free is wanted, or a name made of it that nothing has, the same at every time for the
// same item.
func free(taken map[string]*vmv1alpha1.VirtualMachineImage, wanted, item string) string {
	name := wanted
	for digest := sha256.Sum256([]byte(item)); taken[name] != nil; digest = sha256.Sum256(digest[:]) {
		suffix := "-" + hex.EncodeToString(digest[:4])
		name = strings.TrimRight(wanted[:min(len(wanted), maxName-len(suffix))], "-.") + suffix
	}
	return name
}
