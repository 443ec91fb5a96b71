// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/fleet"
)

// newVCenters returns a fixture with two vCenters, a and b, which both have one item.
func newVCenters(t *testing.T, images ...*vmv1alpha1.VirtualMachineImage) (f *fixture, a, b *vsphere) {
	t.Helper()
	f = newFixture(t)
	for _, i := range images {
		f.add(i)
	}
	f.refresh()
	items := func(vcenter string, names ...string) *vsphere {
		v := &vsphere{failures: map[string]error{}}
		for _, name := range names {
			v.items = append(v.items, provider.LibraryItem{ID: vcenter + "-" + name, Library: "golden", Name: name, Type: "ovf", ContentVersion: "1"})
		}
		return v
	}
	a, b = items("a", "photon"), items("b", "photon", "only-b")
	f.r.vsphere = fleet.Images{Sources: func(context.Context) []fleet.Source {
		return []fleet.Source{{VCenter: "a", Images: a}, {VCenter: "b", Images: b}}
	}}
	return f, a, b
}

// wants compares status: the vCenters, the guest of the described item, and the reason of Ready.
func (f *fixture) expectImage(when, name, ready, guest string, vcenters ...string) {
	f.t.Helper()
	s := f.status("ns", name)
	c := conditions.Find(s.Conditions, vmv1alpha1.ConditionReady)
	if c == nil || string(c.Status)+" "+c.Reason != ready || s.GuestID != guest {
		f.t.Errorf("%s: %s has guest %q, Ready %+v, want %q, %s", when, name, s.GuestID, c, guest, ready)
	}
	if diff := cmp.Diff(vcenters, s.VCenters); diff != "" {
		f.t.Errorf("%s: vCenters of %s (-want +got):\n%s", when, name, diff)
	}
}

func TestImage_DescribesTheItemOfOneVCenter(t *testing.T) {
	f, a, b := newVCenters(t, image("ns", "photon", ofItem("photon")), image("ns", "only-b", ofItem("only-b")), image("ns", "none", ofItem("none")))
	look := func(broken bool) {
		t.Helper()
		if _, err := f.reconcileOnce(golden); (err != nil) != broken {
			t.Errorf("a pass: %v", err)
		}
		f.now = f.now.Add(2 * listInterval)
	}
	const ready, missing, unknown = "True Succeeded", "False NotFound", "Unknown UnknownState"
	look(false)
	f.expectImage("at first", "photon", ready, "guest-of-a-photon", "a", "b")
	f.expectImage("at first", "only-b", ready, "guest-of-b-only-b", "b")
	f.expectImage("at first", "none", missing, "")

	a.failures["list"] = errors.New("a is unreachable")
	look(true) // without the item in any vCenter
	f.expectImage("without a", "photon", ready, "guest-of-a-photon", "a", "b")
	f.expectImage("without a", "only-b", ready, "guest-of-b-only-b", "b")
	f.expectImage("without a", "none", unknown, "")
	delete(a.failures, "list")

	a.items = nil
	look(false)
	f.expectImage("when a no longer has it", "photon", ready, "guest-of-b-photon", "b")
	a.items = []provider.LibraryItem{{ID: "a-photon", Library: "golden", Name: "photon", Type: "ovf", ContentVersion: "1"}}
	look(false)
	f.expectImage("when a has it again", "photon", ready, "guest-of-b-photon", "a", "b")
	a.items, b.items = nil, nil
	look(false)
	f.expectImage("after it is deleted", "photon", missing, "guest-of-b-photon")
}

func TestTemplate_DescribesTheTemplateOfOneVCenter(t *testing.T) {
	f, a, b := newVCenters(t, image("ns", "ubuntu", vmv1alpha1.VirtualMachineImageSpec{Template: &vmv1alpha1.TemplateImageSource{InventoryPath: "templates/ubuntu"}}))
	for _, step := range []struct {
		when  string
		a, b  error
		ready string
		in    []string
	}{
		{when: "in both", ready: "True Succeeded", in: []string{"a", "b"}},
		{when: "a is unreachable", a: errors.New("away"), ready: "True Succeeded", in: []string{"a", "b"}},
		{when: "not in a", a: &provider.NotUsableError{Message: "no", Missing: true}, ready: "True Succeeded", in: []string{"b"}},
		{when: "not in b, and a is unreachable", a: errors.New("away"), b: &provider.NotUsableError{Message: "no", Missing: true}, ready: "Unknown UnknownState", in: []string{"b"}},
		{when: "in none", a: &provider.NotUsableError{Message: "no", Missing: true}, b: &provider.NotUsableError{Message: "no", Missing: true}, ready: "False NotFound"},
	} {
		a.failures["template"], b.failures["template"] = step.a, step.b
		_, _ = f.reconcileOnce(template)
		f.expectImage(step.when, "ubuntu", step.ready, "ubuntu64Guest", step.in...)
	}
}

// An ISO image has no descriptor to read.
func TestISOImage_IsReconciledAgain(t *testing.T) {
	f := newFixture(t)
	f.add(image("ns", "installer", ofItem("installer")))
	f.refresh()
	f.vsphere.items = []provider.LibraryItem{{ID: "id-iso", Library: "golden", Name: "installer", Type: "iso", ContentVersion: "1"}}
	f.r.vsphere = isos{f.vsphere}
	for range 2 {
		if _, err := f.reconcileOnce(golden); err != nil {
			t.Fatal(err)
		}
		f.now = f.now.Add(2 * listInterval)
	}
	expectConditions(t, f.status("ns", "installer"), map[string]string{"Ready": "True Succeeded"})
}

// isos returns items that are ISO images.
type isos struct{ *vsphere }

func (isos) DescribeItem(_ context.Context, item provider.LibraryItem) (*provider.ImageDescription, error) {
	return &provider.ImageDescription{Status: vmv1alpha1.VirtualMachineImageStatus{
		Type: vmv1alpha1.ImageTypeISO, ProviderItemID: item.ID, ContentVersion: item.ContentVersion,
	}}, nil
}

func TestVCenterHandler_EnqueuesImagesWhenAVCenterIsReady(t *testing.T) {
	f := newFixture(t)
	f.add(image("ns", "photon", ofItem("photon")))
	f.refresh()
	vc := func(ready metav1.ConditionStatus) *vmv1alpha1.VCenter {
		return &vmv1alpha1.VCenter{Status: vmv1alpha1.VCenterStatus{Conditions: []metav1.Condition{{Type: vmv1alpha1.ConditionReady, Status: ready}}}}
	}
	h := f.c.vcenterHandler()
	for _, step := range []struct {
		what   string
		change func()
		looks  bool
	}{
		{"an existing VCenter", func() { h.OnAdd(vc(metav1.ConditionTrue), true) }, false},
		{"a requeue", func() { h.OnUpdate(vc(metav1.ConditionTrue), vc(metav1.ConditionTrue)) }, false},
		{"it becomes unreachable", func() { h.OnUpdate(vc(metav1.ConditionTrue), vc(metav1.ConditionFalse)) }, false},
		{"it becomes reachable", func() { h.OnUpdate(vc(metav1.ConditionFalse), vc(metav1.ConditionTrue)) }, true},
		{"it is deleted", func() { h.OnDelete(vc(metav1.ConditionTrue)) }, true},
	} {
		step.change()
		if n := f.c.Keys.Len(); (n > 0) != step.looks {
			t.Errorf("%s: %d sources are queued", step.what, n)
		}
		for f.c.Keys.Len() > 0 {
			key, _ := f.c.Keys.Get()
			f.c.Keys.Done(key)
		}
	}
}
