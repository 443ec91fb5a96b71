// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"net/http"
	"slices"
	"testing"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vapi/library"
	vapi "github.com/vmware/govmomi/vapi/vcenter"
	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
	"github.com/slipway-dev/slipway/test/vcenter"
)

// addTemplateItem makes an item of the content library that is a template, of vm.
func addTemplateItem(t *testing.T, ready vcenter.Ready, vm *object.VirtualMachine, name string) (item string, image *vmv1alpha1.VirtualMachineImage) {
	t.Helper()
	m := libraries(t, ready)
	found, err := m.FindLibrary(t.Context(), library.Find{Name: "slipway"})
	if err != nil {
		t.Fatal(err)
	}
	pool, err := vm.ResourcePool(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	folder, err := object.NewSearchIndex(vm.Client()).FindByInventoryPath(t.Context(), "/DC0/vm")
	if err != nil {
		t.Fatal(err)
	}
	item, err = vapi.NewManager(m.Client).CreateTemplate(t.Context(), vapi.Template{
		Name: name, Library: found[0], SourceVM: vm.Reference().Value,
		Placement: &vapi.Placement{Folder: folder.Reference().Value, ResourcePool: pool.Reference().Value},
	})
	if err != nil {
		t.Fatal(err)
	}
	image = libraryImage()
	image.Spec.ContentLibrary.Item = name
	return item, image
}

func TestATemplateOfALibraryIsDescribedAndCloned(t *testing.T) {
	ready := startVCenter(t)
	p, counted := startProvider(t, ready, nil)
	l := newLoop(t, p)
	first, _ := makeVM(t, ready, "/DC0/vm/templates", "first", &types.OptionValue{Key: "release", Value: "first"})
	item, image := addTemplateItem(t, ready, first, "golden")

	images := p.driver.Images()
	items, err := images.Items(t.Context(), "slipway")
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(items, func(i provider.LibraryItem) bool { return i.Name == "golden" })
	d, err := images.DescribeItem(t.Context(), items[i])
	if err != nil || !items[i].IsImage() {
		t.Fatalf("%+v is an image: %v, %v", items[i], items[i].IsImage(), err)
	}
	if s := d.Status; s.Type != vmv1alpha1.ImageTypeVMTX || s.ProviderItemID != item || s.ContentVersion != items[i].ContentVersion || s.ContentVersion == "" || s.GuestID == "" {
		t.Errorf("described as %+v, want a VMTX item with its guest", s)
	}

	before := newRequest("before", image)
	l.until("a VM of the first version runs", running(before), before)
	second, _ := makeVM(t, ready, "/DC0/vm/templates", "second", &types.OptionValue{Key: "release", Value: "second"})
	makeTemplate(t, second, "second", types.VirtualMachineConfigSpec{})
	control(t, ready, http.MethodPost, "/library/checkin?item="+item+"&vm="+second.Reference().Value)
	after := newRequest("after", image)
	l.until("a VM of the second version runs", running(after), after)
	for req, want := range map[*provider.Request]string{before: "first", after: "second"} {
		vm := p.inventory.Get(types.ManagedObjectReference{Type: "VirtualMachine", Value: req.VM.Status.UniqueID})
		if got := observe.ExtraConfig(vm, "release"); got != want {
			t.Errorf("%s was made from the %s version, want the %s one", req.VM.Name, got, want)
		}
	}
	if n := counted.snapshot(); n["CloneVM_Task"] != 2 || n["rest.DeployLibraryItem"] != 0 {
		t.Errorf("calls %v, want two clones, which have their identity from the start", n)
	}
}

func TestATemplateOfALibraryNeedsNoNewVCenterAndGoesWithItsItem(t *testing.T) {
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, nil)
	vm, _ := makeVM(t, ready, "/DC0/vm/templates", "first")
	item, image := addTemplateItem(t, ready, vm, "golden")
	if source, err := p.places.Source(t.Context(), image); err != nil || source.Template.Value == "" || source.LibraryItem != "" {
		t.Fatalf("the source is %+v, %v; want the template", source, err)
	}
	m := libraries(t, ready)
	if err := m.DeleteLibraryItem(t.Context(), &library.Item{ID: item}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		_, err := p.places.Source(t.Context(), image)
		if err == nil {
			t.Fatal("the item that has gone has a template")
		}
		if c := provider.Unusable(err); c.Reason != vmv1alpha1.ReasonNotFound {
			t.Errorf("without the item: %v, want that it is not found", err)
		}
	}
}
