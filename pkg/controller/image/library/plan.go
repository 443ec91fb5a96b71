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

// maxListed is the maximum number of images in each list of status.
const maxListed = 64

// planInput is the input of makePlan.
type planInput struct {
	library *vmv1alpha1.ContentLibrary
	// items are all items of the library in vSphere.
	items []provider.LibraryItem
	// images are all images of the library's kind and namespace, by name.
	images map[string]*vmv1alpha1.VirtualMachineImage
	// used reports whether a virtual machine refers to an image.
	used func(name string) bool
}

// plan has the writes that make the images match the items.
type plan struct {
	create []*vmv1alpha1.VirtualMachineImage
	// update has images with new labels.
	update []*vmv1alpha1.VirtualMachineImage
	delete []*vmv1alpha1.VirtualMachineImage
	// status is the new status, without conditions.
	status vmv1alpha1.ContentLibraryStatus
}

// makePlan compares items and images. The result does not depend on the order of the items.
func makePlan(s planInput) plan {
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
	p.status.Kept = p.status.Kept[:min(len(p.status.Kept), maxListed)]
	taken := maps.Clone(s.images)
	for _, item := range published {
		desired := imageName(s.library, item)
		image := made[item]
		if image == nil {
			image = newImage(s.library, item, unusedName(taken, desired, item))
			taken[image.Name] = image
			p.create = append(p.create, image)
		} else if next := withLabels(&s.library.Spec, image); next != nil {
			p.update = append(p.update, next)
		}
		p.status.Images++
		if image.Name != desired && len(p.status.Renamed) < maxListed {
			p.status.Renamed = append(p.status.Renamed, vmv1alpha1.ContentLibraryRenamed{Item: item, Image: image.Name, Wanted: desired})
		}
	}
	return p
}

// keepAll removes all deletions from the plan.
func (p *plan) keepAll() {
	p.status.Images += int32(len(p.delete))
	p.delete = nil
}

// count returns the number of items. Items of the same name in several vCenters count as one.
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

// publishedItems returns the sorted names of the items that get an image, without duplicates.
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

// newImage returns the image object of an item.
func newImage(library *vmv1alpha1.ContentLibrary, item, name string) *vmv1alpha1.VirtualMachineImage {
	image := &vmv1alpha1.VirtualMachineImage{}
	image.Name, image.Namespace = name, library.Spec.Namespace
	image.Labels = map[string]string{vmv1alpha1.LabelContentLibrary: library.Name}
	image.Spec.ContentLibrary = &vmv1alpha1.ContentLibraryImageSource{Library: library.Spec.Library, Item: item}
	return image
}

// withLabels returns a copy of image with the labels of the first default that matches its guest operating system. It
// returns nil if no default matches or image has these labels already.
func withLabels(spec *vmv1alpha1.ContentLibrarySpec, image *vmv1alpha1.VirtualMachineImage) *vmv1alpha1.VirtualMachineImage {
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

// unusedName returns desired, or desired with a suffix if that name is in use. The suffix is derived from the item's name.
func unusedName(taken map[string]*vmv1alpha1.VirtualMachineImage, desired, item string) string {
	name := desired
	for digest := sha256.Sum256([]byte(item)); taken[name] != nil; digest = sha256.Sum256(digest[:]) {
		suffix := "-" + hex.EncodeToString(digest[:4])
		name = strings.TrimRight(desired[:min(len(desired), maxName-len(suffix))], "-.") + suffix
	}
	return name
}
