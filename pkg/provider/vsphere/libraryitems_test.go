// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vapi/library"
	vapi "github.com/vmware/govmomi/vapi/vcenter"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
	"github.com/slipway-dev/slipway/test/vcenter"
)

// addTemplateItem adds a template item, created from vm, to the content library.
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

func TestLibraryTemplate_IsDescribedAndCloned(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, counted := startProvider(t, ready, nil)
	l := newLoop(t, p)
	first, _ := createVM(t, ready, "/DC0/vm/templates", "first", &types.OptionValue{Key: "release", Value: "first"})
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
		t.Errorf("status %+v, want a VMTX item with its guest ID", s)
	}

	before := newRequest("before", image)
	l.until("a VM of the first version runs", isRunning(before), before)
	second, _ := createVM(t, ready, "/DC0/vm/templates", "second", &types.OptionValue{Key: "release", Value: "second"})
	createTemplate(t, second, "second", types.VirtualMachineConfigSpec{})
	control(t, ready, http.MethodPost, "/library/checkin?item="+item+"&vm="+second.Reference().Value)
	after := newRequest("after", image)
	l.until("a VM of the second version runs", isRunning(after), after)
	for req, want := range map[*provider.Request]string{before: "first", after: "second"} {
		vm := p.inventory.Get(types.ManagedObjectReference{Type: "VirtualMachine", Value: req.VM.Status.UniqueID})
		if got := observe.ExtraConfig(vm, "release"); got != want {
			t.Errorf("%s was created from version %s, want %s", req.VM.Name, got, want)
		}
	}
	if n := counted.snapshot(); n["CloneVM_Task"] != 2 || n["rest.DeployLibraryItem"] != 0 {
		t.Errorf("calls %v, want two clones and no deployments", n)
	}
}

func TestLibraryTemplate_WorksWithOldVersionsUntilItsItemIsDeleted(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, nil)
	vm, _ := createVM(t, ready, "/DC0/vm/templates", "first")
	item, image := addTemplateItem(t, ready, vm, "golden")
	if source, err := p.resolver.Source(t.Context(), image); err != nil || source.Template.Value == "" || source.LibraryItem != "" {
		t.Fatalf("the source is %+v, %v; want the template", source, err)
	}
	m := libraries(t, ready)
	if err := m.DeleteLibraryItem(t.Context(), &library.Item{ID: item}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		_, err := p.resolver.Source(t.Context(), image)
		if err == nil {
			t.Fatal("the deleted item still has a template")
		}
		if c := provider.Unusable(err); c.Reason != vmv1alpha1.ReasonNotFound {
			t.Errorf("without the item: %v, want a not-found error", err)
		}
	}
}

func TestCatalogue_ReadsNewAndIncompleteItems(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, counted := startProvider(t, ready, nil)
	m := libraries(t, ready)
	reads := func() (names []string, reads int) {
		t.Helper()
		before := counted.snapshot()["rest.GetLibraryItem"]
		items, err := p.driver.Images().Items(t.Context(), "slipway")
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range items {
			names = append(names, i.Name+"@"+i.ContentVersion)
		}
		slices.Sort(names)
		return names, counted.snapshot()["rest.GetLibraryItem"] - before
	}
	check := func(when string, wantReads int, want ...string) {
		t.Helper()
		names, n := reads()
		if diff := gocmp.Diff(want, names); diff != "" || n != wantReads {
			t.Errorf("%s: %d items were read, want %d (-want +got):\n%s", when, n, wantReads, diff)
		}
	}
	check("at first", 2, "photon-5@2", "ubuntu-24.04-appliance@2")
	check("a moment later", 0, "photon-5@2", "ubuntu-24.04-appliance@2")
	addItem(t, ready, "new", library.ItemTypeISO)
	check("with a new item", 1, "new@1", "photon-5@2", "ubuntu-24.04-appliance@2")
	check("while it is being uploaded", 1, "new@1", "photon-5@2", "ubuntu-24.04-appliance@2")
	found, err := m.FindLibraryItems(t.Context(), library.FindItem{Name: "new"})
	if err != nil {
		t.Fatal(err)
	}
	fill(t, m, found[0])
	check("when it is complete", 1, "new@2", "photon-5@2", "ubuntu-24.04-appliance@2")
	check("after that", 0, "new@2", "photon-5@2", "ubuntu-24.04-appliance@2")
	fill(t, m, found[0])
	check("with new content, without a notification", 0, "new@2", "photon-5@2", "ubuntu-24.04-appliance@2")
	p.driver.images.Changed(found[0])
	check("with new content, after a notification", 1, "new@3", "photon-5@2", "ubuntu-24.04-appliance@2")
	if err := m.DeleteLibraryItem(t.Context(), &library.Item{ID: found[0]}); err != nil {
		t.Fatal(err)
	}
	check("without it", 0, "photon-5@2", "ubuntu-24.04-appliance@2")
}

// fill uploads a file into an item.
func fill(t *testing.T, m *library.Manager, item string) {
	t.Helper()
	session, err := m.CreateLibraryItemUpdateSession(t.Context(), library.Session{LibraryItemID: item})
	if err != nil {
		t.Fatal(err)
	}
	file, err := m.AddLibraryItemFile(t.Context(), session, library.UpdateFile{Name: "disc.iso", SourceType: "PUSH", Size: 4})
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(file.UploadEndpoint.URI)
	if err != nil {
		t.Fatal(err)
	}
	param := soap.DefaultUpload
	param.ContentLength = 4
	if err := m.Client.Upload(t.Context(), strings.NewReader("disc"), u, &param); err != nil {
		t.Fatal(err)
	}
	if err := m.CompleteLibraryItemUpdateSession(t.Context(), session); err != nil {
		t.Fatal(err)
	}
}
