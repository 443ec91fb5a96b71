// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// Other calls create and remove files during a search.
func TestDatastoreSearch_OmitsFilesThatAreDeletedMeanwhile(t *testing.T) {
	ctx := testContext(t)
	f, _ := newFiler(ctx, t)
	f.must(f.files.MakeDirectory(ctx, "[LocalDS_0] a/b", f.dc, true))
	var ds mo.Datastore
	f.must(f.ds.Properties(ctx, f.ds.Reference(), []string{"summary"}, &ds))
	dir := filepath.Join(ds.Summary.Url, "a", "b")
	f.must(os.WriteFile(filepath.Join(dir, "stays"), nil, 0o600))
	browser, err := f.ds.Browser(ctx)
	f.must(err)

	done := make(chan struct{})
	var others sync.WaitGroup
	others.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
			}
			for n := range 50 {
				_ = os.WriteFile(filepath.Join(dir, fmt.Sprint("goes-", n)), nil, 0o600)
			}
			for n := range 50 {
				_ = os.Remove(filepath.Join(dir, fmt.Sprint("goes-", n)))
			}
		}
	})
	for range 200 {
		task, err := browser.SearchDatastoreSubFolders(ctx, "[LocalDS_0] a", &types.HostDatastoreBrowserSearchSpec{MatchPattern: []string{"*"}})
		f.must(err)
		info, err := task.WaitForResult(ctx)
		f.must(err)
		found := map[string][]string{}
		for _, res := range info.Result.(types.ArrayOfHostDatastoreBrowserSearchResults).HostDatastoreBrowserSearchResults {
			for _, file := range res.File {
				found[res.FolderPath] = append(found[res.FolderPath], file.GetFileInfo().Path)
			}
		}
		if !slices.Equal(found["[LocalDS_0] a"], []string{"b"}) || !slices.Contains(found["[LocalDS_0] a/b"], "stays") {
			t.Fatalf("found %v, want b in a, and stays in b", found)
		}
	}
	close(done)
	others.Wait()
}
