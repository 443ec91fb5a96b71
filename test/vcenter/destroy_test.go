// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25/mo"
)

// The simulator's destroy task ends before the directory is deleted. The simulator panics if files disappear while it
// lists them for the next task.
func TestDestroy_IsFollowedByADirectoryListingWithoutErrors(t *testing.T) {
	ctx := testContext(t)
	f, _ := newFiler(ctx, t)
	p := findPlaces(ctx, t, f.c)
	var ds mo.Datastore
	f.must(f.ds.Properties(ctx, f.ds.Reference(), []string{"summary"}, &ds))
	vm := create(ctx, t, f.c, p, machine("db"))
	logs := filepath.Join(ds.Summary.Url, "db", "logs")
	f.must(os.Mkdir(logs, 0o700))
	for n := range 5000 {
		f.must(os.WriteFile(filepath.Join(logs, fmt.Sprint(n)), nil, 0o600))
	}
	task, err := vm.Destroy(ctx)
	wait(ctx, t, task, err)
	files, err := f.s.Events().Files()
	f.must(err)
	for _, file := range files {
		if strings.HasPrefix(file, "[LocalDS_0] db/") {
			t.Fatalf("%s is left, and perhaps others", file)
		}
	}
}
