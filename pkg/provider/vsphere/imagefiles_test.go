// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/test/simulated"
	"github.com/slipway-dev/slipway/test/vcenter"
)

// copiedItem is the library item that the tests copy. ssd is the location of the copies.
var (
	copiedItem = vmv1alpha1.ContentLibraryImageSource{Library: "slipway", Item: "photon-5"}
	ssd        = vmv1alpha1.VirtualMachineImageCacheLocation{Datastore: "LocalDS_0"}
)

// startFiles starts a provider that copies images.
func startFiles(t *testing.T, ready vcenter.Ready) *Provider {
	t.Helper()
	p, _ := startProvider(t, ready, nil)
	simulated.Eventually(t, "the inventory is read", p.driver.Synced)
	return p
}

// filesBelow returns the files and directories of LocalDS_0 in the directory of all copies.
func filesBelow(t *testing.T, ready vcenter.Ready) []string {
	t.Helper()
	var all []string
	if err := json.Unmarshal(simulated.Control(t, ready, http.MethodGet, "/datastores/list?datastore=LocalDS_0"), &all); err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(all, func(p string) bool { return !strings.HasPrefix(p, "slipway-images/") || p == "slipway-images/" })
}

// locate returns the resolved location of copies.
func locate(t *testing.T, p *Provider, location vmv1alpha1.VirtualMachineImageCacheLocation) provider.ImageCopyLocation {
	t.Helper()
	place, err := p.driver.ImageFiles().Locate(t.Context(), copiedItem, location, provider.CacheLocation{})
	if err != nil {
		t.Fatal(err)
	}
	return place
}

func TestImageCopies_HaveTheirOwnDirectory(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p := startFiles(t, ready)
	simulated.Control(t, ready, http.MethodPut, "/datastores/disksize?bytes=1048576")
	simulated.Control(t, ready, http.MethodPut, "/datastores/rate?bytes=10485760")
	place := locate(t, p, ssd)
	dir := place.Directory + "-aaaaaaaa"
	var progress []int32
	files, err := p.driver.ImageFiles().Copy(t.Context(), place, dir, func(percent int32) { progress = append(progress, percent) })
	if err != nil {
		t.Fatal(err)
	}
	if len(progress) == 0 || !slices.IsSorted(progress) {
		t.Errorf("progress %v, want increasing values", progress)
	}
	if len(files) != 1 || files[0].ID != "file1" || files[0].Type != vmv1alpha1.CachedFileDisk || files[0].ContentSize == nil || files[0].ContentSize.Value() < 1<<20 {
		t.Errorf("files %+v, want a disk of 1 MiB with the ID of the descriptor's file", files)
	}
	base := strings.TrimPrefix(dir, "[LocalDS_0] ")
	name := strings.TrimSuffix(strings.TrimPrefix(files[0].Path, dir+"/"), ".vmdk")
	want := []string{base + "/", base + "/" + name + "-flat.vmdk", base + "/" + name + ".vmdk"}
	if diff := gocmp.Diff(want, filesBelow(t, ready)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if _, err := p.driver.ImageFiles().Copy(t.Context(), place, dir, func(int32) {}); err == nil {
		t.Error("a second copy uses the same directory")
	}
	if missing, err := p.driver.ImageFiles().Missing(t.Context(), place, dir, files); err != nil || len(missing) != 0 {
		t.Errorf("missing %q, %v", missing, err)
	}
	simulated.Control(t, ready, http.MethodPost, "/datastores/delete?path="+strings.ReplaceAll(strings.ReplaceAll(files[0].Path, "[", "%5B"), "] ", "%5D+"))
	if missing, err := p.driver.ImageFiles().Missing(t.Context(), place, dir, files); err != nil || len(missing) != 1 {
		t.Errorf("missing %q, %v, want the deleted file", missing, err)
	}
	if err := p.driver.ImageFiles().Remove(t.Context(), place.DatastoreID, dir); err != nil {
		t.Fatal(err)
	}
	if left := filesBelow(t, ready); len(left) != 0 {
		t.Errorf("remaining files: %q", left)
	}
}
