// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vapi/library"
	"k8s.io/apimachinery/pkg/api/resource"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
)

func TestCatalogue_ListsALibraryOnce(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, counted := startProvider(t, ready, nil)
	addItem(t, ready, "installer", library.ItemTypeISO)
	items, err := p.driver.Images().Items(t.Context(), "slipway")
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(items, func(a, b provider.LibraryItem) int { return cmp.Compare(a.Name, b.Name) })
	var got []string
	for _, i := range items {
		got = append(got, i.Library+"/"+i.Name+" "+i.Type)
		if i.ID == "" || i.ContentVersion == "" {
			t.Errorf("item %+v has no ID or version", i)
		}
	}
	if diff := gocmp.Diff([]string{"slipway/installer iso", "slipway/photon-5 ovf", "slipway/ubuntu-24.04-appliance ovf"}, got); diff != "" {
		t.Errorf("items (-want +got):\n%s", diff)
	}
	if n := counted.snapshot(); n["rest.FindLibraryItems"] != 1 || n["rest.GetLibraryItem"] != 3 {
		t.Errorf("calls %v, want one list, and one read for each of 3 items", n)
	}
}

func TestCatalogue_DescribesItemsAndTemplates(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, counted := startProvider(t, ready, nil)
	items, err := p.driver.Images().Items(t.Context(), "slipway")
	if err != nil {
		t.Fatal(err)
	}
	disk := []vmv1alpha1.VirtualMachineImageDisk{{Name: "Hard disk 1", Capacity: resource.NewQuantity(16<<30, resource.BinarySI)}}
	want := map[string]vmv1alpha1.VirtualMachineImageStatus{
		"photon-5": {Type: vmv1alpha1.ImageTypeOVF, GuestID: "vmwarePhoton64Guest", Firmware: vmv1alpha1.BootloaderEFI, HardwareVersion: 19,
			Disks: disk, Networks: []string{"nic0"}},
		"ubuntu-24.04-appliance": {Type: vmv1alpha1.ImageTypeOVF, GuestID: "vmwarePhoton64Guest", Firmware: vmv1alpha1.BootloaderEFI, HardwareVersion: 19,
			Disks: disk, Networks: []string{"nic0"}, Properties: []vmv1alpha1.VirtualMachineImageProperty{
				{Key: "instance-id", Type: "string", Default: "id-ovf", UserConfigurable: true},
				{Key: "hostname", Type: "string", Default: "ubuntuguest", UserConfigurable: true},
				{Key: "user-data", Type: "string", UserConfigurable: true},
			}},
	}
	for range 2 {
		for _, item := range items {
			d, err := p.driver.Images().DescribeItem(t.Context(), item)
			if err != nil {
				t.Fatal(err)
			}
			w := want[item.Name]
			w.ProviderItemID, w.ContentVersion, w.ContentSize = item.ID, item.ContentVersion, item.Size
			if diff := gocmp.Diff(w, d.Status); diff != "" {
				t.Errorf("%s (-want +got):\n%s", item.Name, diff)
			}
		}
	}
	if n := counted.snapshot()["rest.DownloadLibraryItem"]; n != len(items) {
		t.Errorf("%d descriptors were downloaded, want %d, each once", n, len(items))
	}

	d, err := p.driver.Images().DescribeTemplate(t.Context(), "templates/ubuntu-24.04")
	if err != nil {
		t.Fatal(err)
	}
	if d.Status.ProviderItemID == "" || d.Status.ContentVersion == "" {
		t.Errorf("the template has ID %q and version %q, want both", d.Status.ProviderItemID, d.Status.ContentVersion)
	}
	d.Status.ProviderItemID, d.Status.ContentVersion, d.Status.ContentSize = "", "", nil
	if diff := gocmp.Diff(vmv1alpha1.VirtualMachineImageStatus{
		Type: vmv1alpha1.ImageTypeTemplate, GuestID: "ubuntu64Guest", Firmware: vmv1alpha1.BootloaderEFI, HardwareVersion: 19,
		Disks: []vmv1alpha1.VirtualMachineImageDisk{{Name: d.Status.Disks[0].Name, Capacity: disk[0].Capacity}}, Networks: []string{"VM Network"},
	}, d.Status); diff != "" {
		t.Errorf("template (-want +got):\n%s", diff)
	}
}

func TestCatalogue_DistinguishesMissingFromUnreadable(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, nil)
	addItem(t, ready, "installer", library.ItemTypeISO)
	addItem(t, ready, "golden", library.ItemTypeVMTX)
	addItem(t, ready, "empty", library.ItemTypeOVF)
	images := p.driver.Images()
	items, err := images.Items(t.Context(), "slipway")
	if err != nil {
		t.Fatal(err)
	}
	describe := func(name string) error {
		i := slices.IndexFunc(items, func(i provider.LibraryItem) bool { return i.Name == name })
		_, err := images.DescribeItem(t.Context(), items[i])
		return err
	}
	listed := func(name string) error { _, err := images.Items(t.Context(), name); return err }
	template := func(path string) error { _, err := images.DescribeTemplate(t.Context(), path); return err }

	for what, tc := range map[string]struct {
		err     error
		missing bool
		want    string
	}{
		"a library":     {listed("silver"), true, `no content library "silver"`},
		"a template":    {template("templates/none"), true, "no template"},
		"a VM template": {describe("golden"), false, `returned no template for item "golden"`},
		"no descriptor": {describe("empty"), false, "no .ovf file"},
	} {
		var notUsable *provider.NotUsableError
		if !errors.As(tc.err, &notUsable) || notUsable.Missing != tc.missing || !strings.Contains(tc.err.Error(), tc.want) {
			t.Errorf("%s: error %v, want a NotUsableError with %q, missing %t", what, tc.err, tc.want, tc.missing)
		}
	}

	if err := describe("installer"); err != nil {
		t.Errorf("an ISO image: error %v, want a description", err)
	}

	control(t, ready, http.MethodPost, "/outage?seconds=600")
	for what, err := range map[string]error{"a library": listed("slipway"), "an item": describe("photon-5"), "a template": template("templates/ubuntu-24.04")} {
		var notUsable *provider.NotUsableError
		if err == nil || errors.As(err, &notUsable) {
			t.Errorf("%s of a vCenter that does not answer: error %v, want an error that is not a NotUsableError", what, err)
		}
	}
}

func TestCatalogue_OmitsAnItemThatIsDeletedDuringAList(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	addItem(t, ready, "installer", library.ItemTypeISO)
	m := libraries(t, ready)
	ids, err := m.FindLibraryItems(t.Context(), library.FindItem{Name: "installer"})
	if err != nil || len(ids) != 1 {
		t.Fatalf("items %v, %v; want one", ids, err)
	}
	var once sync.Once
	p, _ := startProvider(t, ready, func(s *settings) {
		s.OnCall = func(method string) {
			if method == "rest.GetLibraryItem" {
				once.Do(func() {
					if err := m.DeleteLibraryItem(context.Background(), &library.Item{ID: ids[0]}); err != nil {
						t.Error(err)
					}
				})
			}
		}
	})
	items, err := p.driver.Images().Items(t.Context(), "slipway")
	if err != nil || len(items) != 2 {
		t.Errorf("items %+v, %v; want the two remaining ones", items, err)
	}
}
