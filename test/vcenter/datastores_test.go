// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/progress"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/test/vsphereclient"
)

// filer works with the files of a simulated vCenter.
type filer struct {
	t     *testing.T
	s     *Server
	c     *govmomi.Client
	dc    *object.Datacenter
	disks *object.VirtualDiskManager
	files *object.FileManager
	ds    *object.Datastore
}

const mib = 1 << 20

// newFiler creates a library whose disks have 100 MiB, and returns the path of one.
func newFiler(ctx context.Context, t *testing.T) (*filer, string) {
	s := startServer(t, Options{ControlListen: "127.0.0.1:0"})
	f := &filer{t: t, s: s, c: connect(ctx, t, s)}
	finder := find.NewFinder(f.c.Client, false)
	var err error
	if f.dc, err = finder.DefaultDatacenter(ctx); err != nil {
		t.Fatal(err)
	}
	if f.ds, err = finder.SetDatacenter(f.dc).Datastore(ctx, "LocalDS_0"); err != nil {
		t.Fatal(err)
	}
	f.disks, f.files = object.NewVirtualDiskManager(f.c.Client), object.NewFileManager(f.c.Client)
	f.order(http.MethodPut, "/datastores/disksize?bytes=104857600")
	for _, p := range f.list() {
		if strings.HasSuffix(p, "photon-5-disk1.vmdk") {
			return f, "[LocalDS_0] " + p
		}
	}
	t.Fatalf("no disk of the library among %q", f.list())
	return nil, ""
}

func (f *filer) order(method, path string) (out []byte) {
	f.t.Helper()
	out, err := vsphereclient.Order(f.t.Context(), f.s.Ready().ControlURL, method, path)
	f.must(err)
	return out
}

// list returns the files of LocalDS_0.
func (f *filer) list() (all []string) {
	f.t.Helper()
	if err := json.Unmarshal(f.order(http.MethodGet, "/datastores/list?datastore=LocalDS_0"), &all); err != nil {
		f.t.Fatal(err)
	}
	return all
}

// below returns the files in a directory.
func (f *filer) below(dir string) []string {
	return slices.DeleteFunc(f.list(), func(p string) bool { return !strings.HasPrefix(p, dir) })
}

func (f *filer) free(ctx context.Context) int64 {
	f.t.Helper()
	var ds mo.Datastore
	if err := f.ds.Properties(ctx, f.ds.Reference(), []string{"summary"}, &ds); err != nil {
		f.t.Fatal(err)
	}
	return ds.Summary.FreeSpace
}

func (f *filer) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// copyDisk begins a copy of a disk.
func (f *filer) copyDisk(ctx context.Context, from, to string) *object.Task {
	f.t.Helper()
	task, err := f.disks.CopyVirtualDisk(ctx, from, f.dc, to, nil, nil, false)
	f.must(err)
	return task
}

func TestDiskCopy_ReportsProgressAndUsesSpace(t *testing.T) {
	ctx := testContext(t)
	f, disk := newFiler(ctx, t)
	f.must(f.files.MakeDirectory(ctx, "[LocalDS_0] a/b", f.dc, true))
	before := f.free(ctx)
	f.order(http.MethodPut, "/datastores/rate?bytes=524288000")
	var seen atLeastOnce
	_, err := f.copyDisk(ctx, disk, "[LocalDS_0] a/b/d.vmdk").WaitForResult(ctx, &seen)
	f.must(err)
	if !seen.between {
		t.Error("no progress between 1 and 99 percent was reported")
	}
	if diff := cmp.Diff([]string{"a/", "a/b/", "a/b/d-flat.vmdk", "a/b/d.vmdk"}, f.below("a/")); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if took := before - f.free(ctx); took != 100*mib {
		t.Errorf("the copy took %d bytes, want 100 MiB", took)
	}
	f.must(f.copyDisk(ctx, "[LocalDS_0] a/b/d.vmdk", "[LocalDS_0] a/copy.vmdk").Wait(ctx))
	if took := before - f.free(ctx); took != 200*mib {
		t.Errorf("the copy and one of it took %d bytes, want 200 MiB", took)
	}
	removal, err := f.files.DeleteDatastoreFile(ctx, "[LocalDS_0] a", f.dc)
	f.must(err)
	f.must(removal.Wait(ctx))
	if left := f.below("a/"); len(left) != 0 || f.free(ctx) != before {
		t.Errorf("left %q, %d bytes not released", left, before-f.free(ctx))
	}
}

// atLeastOnce waits for a progress report of a running task.
type atLeastOnce struct{ between bool }

// Sink implements progress.Sinker.
func (a *atLeastOnce) Sink() chan<- progress.Report {
	ch := make(chan progress.Report)
	go func() {
		for r := range ch {
			a.between = a.between || r.Percentage() >= 1 && r.Percentage() < 100
		}
	}()
	return ch
}

func TestDiskCopy_LeavesAFileIfItFails(t *testing.T) {
	ctx := testContext(t)
	for name, test := range map[string]struct {
		prepare func(f *filer)
		during  func(f *filer, task *object.Task)
		want    types.BaseMethodFault
	}{
		"no room": {
			prepare: func(f *filer) { f.order(http.MethodPut, "/datastore/free?datastore=LocalDS_0&bytes=1048576") },
			want:    &types.NoDiskSpace{},
		},
		"cancelled": {
			prepare: func(f *filer) { f.order(http.MethodPut, "/datastores/rate?bytes=1048576") },
			during: func(f *filer, task *object.Task) {
				for len(f.below("a/d.vmdk")) == 0 { // a task that has not begun leaves nothing
					f.must(ctx.Err())
				}
				f.must(task.Cancel(ctx))
			},
			want: &types.RequestCanceled{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			f, disk := newFiler(ctx, t)
			f.must(f.files.MakeDirectory(ctx, "[LocalDS_0] a", f.dc, true))
			test.prepare(f)
			copying := f.copyDisk(ctx, disk, "[LocalDS_0] a/d.vmdk")
			if test.during != nil {
				test.during(f, copying)
			}
			if err := copying.Wait(ctx); !fault.Is(err, test.want) {
				t.Errorf("error %v, want %T", err, test.want)
			}
			if got := f.below("a/d.vmdk"); len(got) != 1 {
				t.Errorf("files %q, want the disk", got)
			}
		})
	}
}

func TestDiskCopy_LocksItsSource(t *testing.T) {
	ctx := testContext(t)
	f, disk := newFiler(ctx, t)
	f.must(f.files.MakeDirectory(ctx, "[LocalDS_0] a", f.dc, true))
	f.order(http.MethodPut, "/datastores/rate?bytes=1048576")
	copying := f.copyDisk(ctx, disk, "[LocalDS_0] a/d.vmdk")
	for len(f.below("a/d.vmdk")) == 0 { // It has started.
		f.must(ctx.Err())
	}
	removal, err := f.files.DeleteDatastoreFile(ctx, "[LocalDS_0] a", f.dc)
	f.must(err)
	if err := removal.Wait(ctx); !fault.Is(err, &types.FileLocked{}) {
		t.Errorf("deleting a file that is being written: %v, want FileLocked", err)
	}
	f.must(copying.Cancel(ctx))
}

func TestVSAN_TopLevelDirectoriesAreCreatedByTheNamespaceManagerOnly(t *testing.T) {
	ctx := testContext(t)
	f, disk := newFiler(ctx, t)
	f.order(http.MethodPut, "/datastores/toplevel?datastore=LocalDS_0&allowed=false")
	if err := f.files.MakeDirectory(ctx, "[LocalDS_0] a/b", f.dc, true); !fault.Is(err, &types.CannotCreateFile{}) {
		t.Errorf("a directory at the top: %v, want CannotCreateFile", err)
	}
	namespaces := object.NewDatastoreNamespaceManager(f.c.Client)
	made, err := namespaces.CreateDirectory(ctx, f.ds, "a", "")
	f.must(err)
	if _, err := namespaces.CreateDirectory(ctx, f.ds, "a", ""); !fault.Is(err, &types.FileAlreadyExists{}) {
		t.Errorf("the same again: %v, want FileAlreadyExists", err)
	}
	id := made[strings.LastIndexByte(made, '/')+1:]
	f.must(f.files.MakeDirectory(ctx, "[LocalDS_0] "+id+"/b", f.dc, false))
	f.must(f.copyDisk(ctx, disk, "[LocalDS_0] "+id+"/b/d.vmdk").Wait(ctx))
	if got, err := namespaces.ConvertNamespacePathToUuidPath(ctx, f.dc, strings.TrimSuffix(made, id)+"a"); err != nil || got != made {
		t.Errorf("the name leads to %q, %v, want %q", got, err, made)
	}
	f.must(namespaces.DeleteDirectory(ctx, f.dc, made))
	if left := f.below(id); len(left) != 0 {
		t.Errorf("left: %q", left)
	}
}

func TestFileCalls_FailAsConfigured(t *testing.T) {
	ctx := testContext(t)
	f, disk := newFiler(ctx, t)
	f.must(f.files.MakeDirectory(ctx, "[LocalDS_0] a", f.dc, true))
	if err := f.files.MakeDirectory(ctx, "[LocalDS_0] a", f.dc, false); !fault.Is(err, &types.FileAlreadyExists{}) {
		t.Errorf("the same directory: %v, want FileAlreadyExists", err)
	}
	f.order(http.MethodPut, "/datastores/fault?call=CopyVirtualDisk_Task&fault=CannotAccessFile&times=1")
	if err := f.copyDisk(ctx, disk, "[LocalDS_0] a/d.vmdk").Wait(ctx); !fault.Is(err, &types.CannotAccessFile{}) {
		t.Errorf("as ordered: %v, want CannotAccessFile", err)
	}
	f.must(f.copyDisk(ctx, disk, "[LocalDS_0] a/d.vmdk").Wait(ctx))
	err := f.copyDisk(ctx, disk, "[LocalDS_0] a/d.vmdk").Wait(ctx)
	if !fault.Is(err, &types.FileAlreadyExists{}) {
		t.Errorf("onto a file that is there: %v, want FileAlreadyExists", err)
	}
	_, err = methods.MakeDirectory(ctx, f.c.Client, &types.MakeDirectory{This: f.files.Reference(), Name: "LocalDS_0/a"})
	if !fault.Is(err, &types.InvalidDatastorePath{}) {
		t.Errorf("a path that is none: %v, want InvalidDatastorePath", err)
	}
}
