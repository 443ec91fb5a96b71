// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/provider"
)

func TestReconcile_ReadsListAndDescriptorOnceForAllImages(t *testing.T) {
	f := newFixture(t, image("a", "photon", ofItem("photon")), image("b", "other", ofItem("photon")), clusterImage("photon", ofItem("photon")))
	result, err := f.reconcileOnce(golden)
	if err != nil || result.RequeueAfter != listInterval {
		t.Errorf("result %+v, %v; want a requeue after %s", result, err, listInterval)
	}
	for _, s := range []*vmv1alpha1.VirtualMachineImageStatus{f.status("a", "photon"), f.status("b", "other"), f.status("", "photon")} {
		expectConditions(t, s, good)
		if s.GuestID != "guest-of-id-1" || s.ContentVersion != "1" || s.ProviderItemID != "id-1" || s.ObservedGeneration != 1 {
			t.Errorf("status %+v, want that of the item", s)
		}
	}
	if diff := cmp.Diff([]string{"list golden", "describe id-1@1"}, f.vsphere.called()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

func TestDescriptor_IsReadAgainWhenItemOrContentChanges(t *testing.T) {
	f := newFixture(t, image("a", "photon", ofItem("photon")))
	size := resource.MustParse("1Gi")
	for _, step := range []struct {
		name, id, version string
		want              []string
	}{
		{"at first", "id-1", "1", []string{"list golden", "describe id-1@1"}},
		{"unchanged", "id-1", "1", []string{"list golden"}},
		{"new content", "id-1", "2", []string{"list golden", "describe id-1@2"}},
		{"another item of the name", "id-2", "2", []string{"list golden", "describe id-2@2"}},
	} {
		f.vsphere.items[0].ID, f.vsphere.items[0].ContentVersion, f.vsphere.items[0].Size = step.id, step.version, &size
		if _, err := f.reconcileOnce(golden); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if diff := cmp.Diff(step.want, f.vsphere.called()); diff != "" {
			t.Errorf("%s: calls (-want +got):\n%s", step.name, diff)
		}
		if s := f.status("a", "photon"); s.ProviderItemID != step.id || s.ContentVersion != step.version || s.ContentSize == nil {
			t.Errorf("%s: status %+v", step.name, s)
		}
		f.now = f.now.Add(describeInterval)
	}
}

func TestStatus_IsWrittenOnlyIfItDiffers(t *testing.T) {
	f := newFixture(t, image("a", "photon", ofItem("photon")), image("a", "none", ofItem("none")), image("a", "ubuntu", vmv1alpha1.VirtualMachineImageSpec{
		Template: &vmv1alpha1.TemplateImageSource{InventoryPath: template.template}}))
	writes := func() (n int) {
		for _, a := range f.api.Actions() {
			if a.GetVerb() == "update" {
				n++
			}
		}
		return n
	}
	for i := range 3 {
		for _, p := range []source{golden, template} {
			if _, err := f.reconcileOnce(p); err != nil {
				t.Fatal(err)
			}
		}
		if got := writes(); got != 3 {
			t.Errorf("%d writes after %d reconciles, want 3", got, i+1)
		}
		f.now = f.now.Add(describeInterval)
	}
}

func TestStatus_IsUnknownAndKeepsTheDescriptionIfTheImageIsUnread(t *testing.T) {
	broken := errors.New("connection reset")
	f := newFixture(t, image("a", "photon", ofItem("photon")))
	if _, err := f.reconcileOnce(golden); err != nil {
		t.Fatal(err)
	}
	for _, of := range []string{"list", "id-1"} {
		f.now = f.now.Add(describeInterval)
		f.vsphere.failures[of] = broken
		f.vsphere.items[0].ContentVersion += "0"
		if _, err := f.reconcileOnce(golden); !errors.Is(err, broken) {
			t.Errorf("%s: error %v, want %v, so that it is retried with backoff", of, err, broken)
		}
		s := f.status("a", "photon")
		expectConditions(t, s, map[string]string{"Ready": "Unknown UnknownState", "OVFReady": "Unknown UnknownState", "SettingsApplied": "Unknown UnknownState"})
		if c := meta.FindStatusCondition(s.Conditions, "Ready"); !strings.Contains(c.Message, "connection reset") {
			t.Errorf("%s: message %q, want the cause", of, c.Message)
		}
		if s.GuestID != "guest-of-id-1" || s.ContentVersion != "1" {
			t.Errorf("%s: status %+v, want the description that it had", of, s)
		}
		delete(f.vsphere.failures, of)
	}
	f.now = f.now.Add(describeInterval)
	if _, err := f.reconcileOnce(golden); err != nil {
		t.Fatal(err)
	}
	expectConditions(t, f.status("a", "photon"), good)
}

func TestStatus_IsNotWrittenWhileNoVCenterIsInUse(t *testing.T) {
	f := newFixture(t, image("a", "photon", ofItem("photon")))
	f.vsphere.failures["list"] = provider.ErrNotInUse
	result, err := f.reconcileOnce(golden)
	if err != nil || result.RequeueAfter != controller.Soon {
		t.Errorf("result %+v, %v; want a requeue after %s", result, err, controller.Soon)
	}
	expectConditions(t, f.status("a", "photon"), map[string]string{})
}

func TestReconcile_ContinuesAfterAnUnreadableImage(t *testing.T) {
	f := newFixture(t, image("a", "broken", ofItem("broken")), image("a", "photon", ofItem("photon")))
	f.vsphere.items = append(f.vsphere.items, provider.LibraryItem{ID: "id-2", Name: "broken", Type: "ovf"})
	f.vsphere.failures["id-2"] = errors.New("connection reset")
	if _, err := f.reconcileOnce(golden); err == nil {
		t.Error("no error; want one, so that the source is reconciled again soon")
	}
	expectConditions(t, f.status("a", "photon"), good)
	expectConditions(t, f.status("a", "broken"), map[string]string{"Ready": "Unknown UnknownState"})
}

func TestReady_ReportsErrorsOfVSphere(t *testing.T) {
	for name, tc := range map[string]struct {
		change  func(*vsphere)
		image   *vmv1alpha1.VirtualMachineImage
		want    map[string]string
		message string
	}{
		"no such library": {func(*vsphere) {}, image("a", "i", vmv1alpha1.VirtualMachineImageSpec{
			ContentLibrary: &vmv1alpha1.ContentLibraryImageSource{Library: "silver", Item: "x"}}),
			map[string]string{"Ready": "False NotFound"}, `no content library "silver"`},
		"no such item": {func(*vsphere) {}, image("a", "i", ofItem("x")), map[string]string{"Ready": "False NotFound"}, `content library "golden" has no item "x"`},
		"two such items": {func(v *vsphere) { v.items = append(v.items, provider.LibraryItem{ID: "id-2", Name: "photon"}) },
			image("a", "i", ofItem("photon")), map[string]string{"Ready": "False Invalid"}, `has 2 items "photon"`},
		"no OVF": {func(v *vsphere) {
			v.failures["id-1"] = &provider.NotUsableError{Message: "the OVF descriptor cannot be parsed"}
		},
			image("a", "i", ofItem("photon")), map[string]string{"Ready": "False Invalid"}, "cannot be parsed"},
		"an incomplete descriptor": {func(v *vsphere) { v.incomplete = "744 properties are not listed" },
			image("a", "i", ofItem("photon")), map[string]string{"Ready": "True Succeeded", "OVFReady": "False Incomplete", "SettingsApplied": "True Succeeded"}, ""},
	} {
		f := newFixture(t, tc.image)
		tc.change(f.vsphere)
		for range 2 {
			if _, err := f.reconcileOnce(sourceOf(&tc.image.Spec)); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			f.now = f.now.Add(describeInterval)
		}
		s := f.status("a", "i")
		expectConditions(t, s, tc.want)
		if c := meta.FindStatusCondition(s.Conditions, "Ready"); !strings.Contains(c.Message, tc.message) {
			t.Errorf("%s: message %q, want %q in it", name, c.Message, tc.message)
		}
	}
}

func TestImage_ReportsSettingsThatAreNotApplied(t *testing.T) {
	for name, tc := range map[string]struct {
		notApplied, defaulted string
		want, message         string
	}{
		"a setting":              {"without sgxInfo.epcSize", "", "False NotApplied", "without sgxInfo.epcSize"},
		"a choice":               {"", "the default configuration is used", "True DefaultConfiguration", "the default configuration is used"},
		"a setting and a choice": {"without sgxInfo.epcSize", "the default configuration is used", "False NotApplied", "without sgxInfo.epcSize. Also, the default configuration is used"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, image("a", "photon", ofItem("photon")))
			f.vsphere.notApplied, f.vsphere.defaulted = tc.notApplied, tc.defaulted
			for range 3 { // from the second one by what status has
				if _, err := f.reconcileOnce(golden); err != nil {
					t.Fatal(err)
				}
				s := f.status("a", "photon")
				expectConditions(t, s, map[string]string{"Ready": "True Succeeded", "OVFReady": "True Succeeded", "SettingsApplied": tc.want})
				if c := meta.FindStatusCondition(s.Conditions, "SettingsApplied"); c == nil || c.Message != tc.message {
					t.Errorf("condition %+v, want message %q", c, tc.message)
				}
				f.now = f.now.Add(describeInterval)
			}
			if diff := cmp.Diff([]string{"list golden", "describe id-1@1", "list golden", "list golden"}, f.vsphere.called()); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
}

func TestImage_IsDescribedAgainAfterAnUpgrade(t *testing.T) {
	f := newFixture(t, image("a", "photon", ofItem("photon")))
	if _, err := f.reconcileOnce(golden); err != nil {
		t.Fatal(err)
	}
	i := image("a", "photon", ofItem("photon"))
	i.Status = *f.status("a", "photon").DeepCopy()
	meta.RemoveStatusCondition(&i.Status.Conditions, "SettingsApplied")
	f = newFixture(t, i)
	if _, err := f.reconcileOnce(golden); err != nil {
		t.Fatal(err)
	}
	expectConditions(t, f.status("a", "photon"), good)
}

func TestReady_IsNotFoundAfterTheItemIsDeleted(t *testing.T) {
	f := newFixture(t, image("a", "photon", ofItem("photon")))
	for _, want := range []map[string]string{good, {"Ready": "False NotFound", "OVFReady": "False NotFound", "SettingsApplied": "False NotFound"}, good} {
		if _, err := f.reconcileOnce(golden); err != nil {
			t.Fatal(err)
		}
		expectConditions(t, f.status("a", "photon"), want)
		f.now = f.now.Add(describeInterval)
		if f.vsphere.items == nil {
			f.vsphere.items = []provider.LibraryItem{{ID: "id-1", Name: "photon", Type: "ovf", ContentVersion: "1"}}
			continue
		}
		f.vsphere.items = nil
	}
}

func TestReconcile_ListsALibraryOnceForManyNewImages(t *testing.T) {
	f := newFixture(t, image("a", "photon", ofItem("photon")))
	if _, err := f.reconcileOnce(golden); err != nil {
		t.Fatal(err)
	}
	f.vsphere.called()
	for i := range 5 {
		f.now = f.now.Add(time.Second)
		f.add(image("b", fmt.Sprintf("photon-%d", i), ofItem("photon")))
		if _, err := f.reconcileOnce(golden); err != nil {
			t.Fatal(err)
		}
		expectConditions(t, f.status("b", fmt.Sprintf("photon-%d", i)), good)
	}
	f.add(image("b", "new", ofItem("new")))
	result, err := f.reconcileOnce(golden)
	if err != nil || result.RequeueAfter != listInterval {
		t.Errorf("result %+v, %v; want a requeue after %s for an item that the list may not have yet", result, err, listInterval)
	}
	expectConditions(t, f.status("b", "new"), map[string]string{})
	if got := f.vsphere.called(); len(got) > 0 {
		t.Errorf("calls %v, want none: the item was described a moment ago", got)
	}
	f.now = f.now.Add(listInterval)
	f.vsphere.items = append(f.vsphere.items, provider.LibraryItem{ID: "id-2", Name: "new", Type: "ovf"})
	if _, err := f.reconcileOnce(golden); err != nil {
		t.Fatal(err)
	}
	expectConditions(t, f.status("b", "new"), good)
}

func TestReconcile_ReadsAnUnusableItemAgainWithItsNextVersionOrLater(t *testing.T) {
	f := newFixture(t, image("a", "photon", ofItem("photon")))
	f.vsphere.failures["id-1"] = &provider.NotUsableError{Message: "the item has no .ovf file"}
	for _, step := range []struct {
		name, version string
		after         time.Duration
		want          []string
	}{
		{"while nothing was uploaded", "1", 0, []string{"list golden", "describe id-1@1"}},
		{"still nothing", "1", listInterval, []string{"list golden"}},
		{"long after", "1", describeInterval, []string{"list golden", "describe id-1@1"}},
		{"with content", "2", listInterval, []string{"list golden", "describe id-1@2"}},
	} {
		f.now = f.now.Add(step.after)
		if f.vsphere.items[0].ContentVersion = step.version; step.version != "1" {
			delete(f.vsphere.failures, "id-1")
		}
		if _, err := f.reconcileOnce(golden); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(step.want, f.vsphere.called()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.name, diff)
		}
	}
	expectConditions(t, f.status("a", "photon"), good)
}

func TestReconcile_DoesNotReadASourceWithoutImages(t *testing.T) {
	f := newFixture(t)
	result, err := f.reconcileOnce(golden)
	if err != nil || result != (controller.Result{}) || len(f.vsphere.called()) > 0 {
		t.Errorf("result %+v, %v; want no calls and no requeue", result, err)
	}
}

func TestTemplate_HasNoOVFReady(t *testing.T) {
	f := newFixture(t, clusterImage("ubuntu", vmv1alpha1.VirtualMachineImageSpec{Template: &vmv1alpha1.TemplateImageSource{InventoryPath: template.template}}))
	if _, err := f.reconcileOnce(template); err != nil {
		t.Fatal(err)
	}
	expectConditions(t, f.status("", "ubuntu"), map[string]string{"Ready": "True Succeeded"})
	f.vsphere.failures["template"] = errors.New("connection reset")
	if _, err := f.reconcileOnce(template); err == nil {
		t.Error("no error; want one, so that the source is reconciled again soon")
	}
	expectConditions(t, f.status("", "ubuntu"), map[string]string{"Ready": "Unknown UnknownState"})
}

func TestImageHandler_EnqueuesTheSourceOfNewImagesOnly(t *testing.T) {
	f := newFixture(t)
	h := f.c.imageHandler()
	i := image("a", "photon", ofItem("photon"))
	h.OnUpdate(i, i)
	h.OnDelete(i)
	if n := f.c.Keys.Len(); n != 0 {
		t.Errorf("%d sources queued by an update and a deletion, want none", n)
	}
	h.OnAdd(i, false)
	h.OnAdd(clusterImage("photon", ofItem("other")), true)
	if n := f.c.Keys.Len(); n != 1 {
		t.Fatalf("%d sources queued, want one", n)
	}
	p, priority, _ := f.c.Keys.GetWithPriority()
	f.c.Keys.Done(p)
	if p != golden || priority != controller.PriorityDefaultCreate {
		t.Errorf("queued %s with priority %d, want %s with %d", p, priority, golden, controller.PriorityDefaultCreate)
	}
}

// A recent list of the library has the previous version.
func TestPublishRequestHandler_ListsTheLibraryAgain(t *testing.T) {
	image := &vmv1alpha1.VirtualMachineImage{}
	image.Namespace, image.Name, image.Labels = "ns", "photon", map[string]string{vmv1alpha1.LabelContentLibrary: "of-team"}
	image.Spec.ContentLibrary = &vmv1alpha1.ContentLibraryImageSource{Library: "golden", Item: "photon"}
	f := newFixture(t, image)
	before, after := &vmv1alpha1.VirtualMachinePublishRequest{}, &vmv1alpha1.VirtualMachinePublishRequest{}
	after.Spec.Target = vmv1alpha1.VirtualMachinePublishTarget{ContentLibrary: "of-team", Item: "photon"}
	forgotten := 0
	f.c.clearLists = func() { forgotten++ }
	published := f.c.publishRequestHandler()
	published.OnUpdate(before, after)
	other := after.DeepCopy()
	other.Spec.Target.Item, other.Status.ContentVersion = "another", "2"
	published.OnUpdate(before, other)
	if n := f.c.Keys.Len(); n != 0 {
		t.Errorf("%d sources are queued, but none of their items was published", n)
	}
	after.Status.ContentVersion = "2"
	published.OnUpdate(before, after)
	if n := f.c.Keys.Len(); n != 1 || forgotten == 0 {
		t.Errorf("%d sources are queued, and lists were cleared %d times; want one and one", n, forgotten)
	}
}
