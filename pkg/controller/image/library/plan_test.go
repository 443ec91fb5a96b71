// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package library

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// golden returns a ContentLibrary that change has modified.
func golden(change func(*vmv1alpha1.ContentLibrarySpec)) *vmv1alpha1.ContentLibrary {
	l := &vmv1alpha1.ContentLibrary{Spec: vmv1alpha1.ContentLibrarySpec{Library: "Golden Images"}}
	l.Name, l.Generation = "golden", 1
	if change != nil {
		change(&l.Spec)
	}
	return l
}

// ovfs returns OVF items with the names.
func ovfs(names ...string) []provider.LibraryItem {
	var items []provider.LibraryItem
	for _, name := range names {
		items = append(items, provider.LibraryItem{ID: "id of " + name, Name: name, Type: "ovf"})
	}
	return items
}

// summary lists the images that a plan creates, as name=item, and the names of those that it updates or deletes.
func summary(p plan) []string {
	var lines []string
	for _, i := range p.create {
		lines = append(lines, fmt.Sprintf("create %s of %s", i.Name, i.Spec.ContentLibrary.Item))
	}
	for _, i := range p.update {
		lines = append(lines, "label "+i.Name)
	}
	for _, i := range p.delete {
		lines = append(lines, "delete "+i.Name)
	}
	for _, name := range p.status.Kept {
		lines = append(lines, "keep "+name)
	}
	for _, r := range p.status.Renamed {
		lines = append(lines, fmt.Sprintf("%s instead of %s for %s", r.Image, r.Wanted, r.Item))
	}
	return lines
}

func TestPlan_CreatesAndDeletesImagesOfItems(t *testing.T) {
	own := func(name, item string) *vmv1alpha1.VirtualMachineImage { return newImage(golden(nil), item, name) }
	foreign := func(name string) *vmv1alpha1.VirtualMachineImage {
		i := own(name, name)
		i.Labels = nil
		return i
	}
	for name, tc := range map[string]struct {
		change func(*vmv1alpha1.ContentLibrarySpec)
		items  []provider.LibraryItem
		images []*vmv1alpha1.VirtualMachineImage
		used   string
		want   []string
	}{
		"new items":               {items: ovfs("Ubuntu 24.04", "photon"), want: []string{"create ubuntu-24.04 of Ubuntu 24.04", "create photon of photon"}},
		"items that have images":  {items: ovfs("photon"), images: []*vmv1alpha1.VirtualMachineImage{own("photon", "photon")}},
		"a deleted item":          {images: []*vmv1alpha1.VirtualMachineImage{own("photon", "photon")}, want: []string{"delete photon"}},
		"an image that a VM uses": {images: []*vmv1alpha1.VirtualMachineImage{own("photon", "photon")}, used: "photon", want: []string{"keep photon"}},
		"an image of a user":      {images: []*vmv1alpha1.VirtualMachineImage{foreign("photon")}},
		"a name in use": {
			items: ovfs("photon"), images: []*vmv1alpha1.VirtualMachineImage{foreign("photon")},
			want: []string{"create photon-db44daf2 of photon", "photon-db44daf2 instead of photon for photon"},
		},
		"two items of one name": {
			items: ovfs("a b", "A-B"), want: []string{"create a-b of A-B", "create a-b-c8687a08 of a b", "a-b-c8687a08 instead of a-b for a b"},
		},
		"a name that has become free": {
			items: ovfs("a b"), images: []*vmv1alpha1.VirtualMachineImage{own("a-b-c8687a08", "a b")}, want: []string{"a-b-c8687a08 instead of a-b for a b"},
		},
		"an item twice":        {items: append(ovfs("photon"), ovfs("photon")...), want: []string{"create photon of photon"}},
		"an image twice":       {items: ovfs("photon"), images: []*vmv1alpha1.VirtualMachineImage{own("photon", "photon"), own("photon-2", "photon")}, want: []string{"delete photon-2"}},
		"items of other types": {items: []provider.LibraryItem{{Name: "notes.txt", Type: "file"}, {Name: "nothing yet"}}},
		"templates":            {items: []provider.LibraryItem{{Name: "windows", Type: "vm-template"}}, want: []string{"create windows of windows"}},
		"an ISO":               {items: []provider.LibraryItem{{Name: "tools.iso", Type: "ISO"}}, want: []string{"create tools.iso of tools.iso"}},
		"a template of names":  {change: func(s *vmv1alpha1.ContentLibrarySpec) { s.NameTemplate = "{library}.{item}" }, items: ovfs("Photon 5"), want: []string{"create golden-images.photon-5 of Photon 5"}},
		"a filter": {change: func(s *vmv1alpha1.ContentLibrarySpec) {
			s.Include, s.Exclude = []string{"u*", "p?"}, []string{"*(old)"}
		}, items: ovfs("ubuntu", "ubuntu (old)", "p5", "p55"), want: []string{"create p5 of p5", "create ubuntu of ubuntu"}},
		"an item that is excluded": {change: func(s *vmv1alpha1.ContentLibrarySpec) { s.Exclude = []string{"*"} }, items: ovfs("photon"), images: []*vmv1alpha1.VirtualMachineImage{own("photon", "photon")}, want: []string{"delete photon"}},
		"names that are patterns":  {change: func(s *vmv1alpha1.ContentLibrarySpec) { s.Include = []string{"a.b(c"} }, items: ovfs("a.b(c", "axb(c"), want: []string{"create a.b-c of a.b(c"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := planInput{library: golden(tc.change), items: tc.items, images: map[string]*vmv1alpha1.VirtualMachineImage{}, used: func(n string) bool { return n == tc.used }}
			for _, i := range tc.images {
				s.images[i.Name] = i
			}
			p := makePlan(s)
			if diff := cmp.Diff(tc.want, summary(p)); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
			if want := int32(len(tc.items)); p.status.Items != want {
				t.Errorf("%d items are reported, want %d", p.status.Items, want)
			}
		})
	}
}

func TestPlan_LabelsImagesByTheirGuest(t *testing.T) {
	defaults := func(s *vmv1alpha1.ContentLibrarySpec) {
		s.Defaults = []vmv1alpha1.ContentLibraryDefault{
			{GuestID: "ubuntu*", Preference: "ubuntu", PreferenceKind: "VirtualMachinePreference"},
			{GuestID: "*", Instancetype: "small"},
		}
	}
	for guest, want := range map[string]map[string]string{
		"":               {vmv1alpha1.LabelContentLibrary: "golden", "hand": "made"},
		"ubuntu64Guest":  {vmv1alpha1.LabelContentLibrary: "golden", "hand": "made", vmv1alpha1.LabelDefaultPreference: "ubuntu", vmv1alpha1.LabelDefaultPreferenceKind: "VirtualMachinePreference"},
		"windows9_Guest": {vmv1alpha1.LabelContentLibrary: "golden", "hand": "made", vmv1alpha1.LabelDefaultInstancetype: "small"},
	} {
		image := newImage(golden(nil), "a", "a")
		image.Labels["hand"] = "made"
		image.Status.GuestID = guest
		s := planInput{library: golden(defaults), items: ovfs("a"), images: map[string]*vmv1alpha1.VirtualMachineImage{"a": image}}
		got := image.Labels
		if p := makePlan(s); len(p.update) == 1 {
			got = p.update[0].Labels
			s.images["a"] = p.update[0]
			if again := makePlan(s); len(again.update) != 0 {
				t.Errorf("guest %q: labelled again: %v", guest, again.update[0].Labels)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("labels of guest %q (-want +got):\n%s", guest, diff)
		}
	}
}

func TestImageName_IsAValidObjectName(t *testing.T) {
	for item, want := range map[string]string{
		"Ubuntu 24.04 LTS":        "ubuntu-24.04-lts",
		"--a__b--":                "a-b",
		"a. .b":                   "a.b",
		"a .b":                    "a-b",
		"...":                     "image",
		"Übung":                   "bung",
		"日本":                      "image",
		strings.Repeat("a b", 60): strings.Repeat("a-b", 21),
	} {
		got := imageName(golden(nil), item)
		if got != want {
			t.Errorf("item %q gets the name %q, want %q", item, got, want)
		}
		if wrong := apivalidation.NameIsDNSSubdomain(got, false); len(wrong) > 0 {
			t.Errorf("item %q gets the name %q: %v", item, got, wrong)
		}
	}
}

func FuzzImageName(f *testing.F) {
	for _, seed := range []string{"a", "A.-.B", ". a", "a\x00", strings.Repeat("x.", 100)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, item string) {
		taken := map[string]*vmv1alpha1.VirtualMachineImage{}
		for range 3 {
			name := unusedName(taken, imageName(golden(nil), item), item)
			if wrong := apivalidation.NameIsDNSSubdomain(name, false); len(wrong) > 0 || len(name) > maxName || taken[name] != nil {
				t.Fatalf("item %q gets the name %q, which is taken: %t; %v", item, name, taken[name] != nil, wrong)
			}
			taken[name] = &vmv1alpha1.VirtualMachineImage{}
		}
	})
}
