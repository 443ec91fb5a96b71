// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package datastores

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vmdk"
)

// step is the interval at which a copy checks its state.
const step = 20 * time.Millisecond

// task creates the task of a call. It takes no lock that other calls need.
func (d *Datastores) task(call, description, name string, run func(*simulator.Task) types.BaseMethodFault) *simulator.Task {
	of := types.ManagedObjectReference{Type: "SlipwayFile", Value: call + " " + name}
	task := simulator.CreateTask(of, call, func(task *simulator.Task) (types.AnyType, types.BaseMethodFault) {
		if fault := d.ordered(call); fault != nil {
			return nil, fault
		}
		return nil, run(task)
	})
	task.Info.Name, task.Info.DescriptionId = call, description
	return task
}

// CopyVirtualDiskTask copies a disk.
func (d *Datastores) CopyVirtualDiskTask(ctx *simulator.Context, req *types.CopyVirtualDisk_Task) soap.HasFault {
	task := d.task("CopyVirtualDisk_Task", "VirtualDiskManager.copyVirtualDisk", req.DestName, func(task *simulator.Task) types.BaseMethodFault {
		return d.copy(ctx, task, transfer{
			from: req.SourceName, fromDC: req.SourceDatacenter, to: req.DestName, toDC: req.DestDatacenter,
			force: req.Force != nil && *req.Force, write: writeDisk,
		})
	})
	return &methods.CopyVirtualDisk_TaskBody{Res: &types.CopyVirtualDisk_TaskResponse{Returnval: task.Run(ctx)}}
}

// CopyDatastoreFileTask copies a file that is not a disk.
func (d *Datastores) CopyDatastoreFileTask(ctx *simulator.Context, req *types.CopyDatastoreFile_Task) soap.HasFault {
	task := d.task("CopyDatastoreFile_Task", "FileManager.copyFile", req.DestinationName, func(task *simulator.Task) types.BaseMethodFault {
		return d.copy(ctx, task, transfer{
			from: req.SourceName, fromDC: req.SourceDatacenter, to: req.DestinationName, toDC: req.DestinationDatacenter,
			force: req.Force != nil && *req.Force, write: writeFile,
		})
	})
	return &methods.CopyDatastoreFile_TaskBody{Res: &types.CopyDatastoreFile_TaskResponse{Returnval: task.Run(ctx)}}
}

// transfer is a copy of a file.
type transfer struct {
	from, to     string
	fromDC, toDC *types.ManagedObjectReference
	force        bool
	write        func(from, to file) error
}

// copy creates the file immediately, and its used space grows over time.
func (d *Datastores) copy(ctx *simulator.Context, task *simulator.Task, t transfer) types.BaseMethodFault {
	from, fault := d.resolve(ctx, t.fromDC, t.from)
	if fault != nil {
		return fault
	}
	if t.toDC == nil { // API: "if not specified, it is assumed that the destination path belongs to the source datacenter"
		t.toDC = t.fromDC
	}
	to, fault := d.resolve(ctx, t.toDC, t.to)
	switch {
	case fault != nil:
		return fault
	case !from.there():
		return &types.FileNotFound{FileFault: from.fault()}
	case to.there() && !t.force:
		return &types.FileAlreadyExists{FileFault: to.fault()}
	}
	if info, err := os.Stat(filepath.Dir(to.disk)); err != nil || !info.IsDir() {
		return &types.FileNotFound{FileFault: to.fault()}
	}
	defer d.hold(from.disk, to.disk)()
	if err := t.write(from, to); err != nil {
		return &types.CannotCreateFile{FileFault: to.fault()}
	}
	return d.fill(ctx, task, to, d.content(from))
}

// content returns the size of a file. For a disk it includes the extent.
func (d *Datastores) content(f file) int64 {
	size := d.size(f)
	if f.isDisk() {
		d.mu.Lock()
		defer d.mu.Unlock()
		size += d.sizes[extent(f.disk)]
	}
	return size
}

// hold marks files as open until the returned function is called.
func (d *Datastores) hold(paths ...string) (done func()) {
	add := func(n int) {
		d.mu.Lock()
		defer d.mu.Unlock()
		for _, p := range paths {
			if d.open[p] += n; d.open[p] == 0 {
				delete(d.open, p)
			}
		}
	}
	add(1)
	return func() { add(-1) }
}

// fill increases the size of a new file until it is complete.
func (d *Datastores) fill(ctx *simulator.Context, task *simulator.Task, f file, size int64) types.BaseMethodFault {
	d.grow(f, 0)
	tick := time.NewTicker(step)
	defer tick.Stop()
	for done := int64(0); done < size; {
		d.mu.Lock()
		rate := d.rate
		d.mu.Unlock()
		next := size
		if rate > 0 {
			<-tick.C
			next = min(size, done+max(1, int64(step.Seconds()*float64(rate))))
		}
		if d.over(ctx, task) {
			return &types.RequestCanceled{}
		}
		if fault := d.charge(f.on, next-done); fault != nil {
			return fault
		}
		d.grow(f, next)
		d.mu.Lock()
		d.copied += next - done
		d.mu.Unlock()
		done = next
		progress := int32(done * 100 / size)
		ctx.Map.AtomicUpdate(ctx, task, []types.PropertyChange{{Name: "info.progress", Val: progress}})
	}
	return nil
}

// over reports whether a task was canceled or no longer exists.
func (d *Datastores) over(ctx *simulator.Context, task *simulator.Task) (over bool) {
	own := &simulator.Context{Context: ctx.Context, Map: d.registry}
	own.WithLock(task, func() {
		over = task.Info.State == types.TaskInfoStateError || task.Info.State == types.TaskInfoStateSuccess
	})
	return over
}

func (d *Datastores) grow(f file, size int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if f.isDisk() {
		d.sizes[f.disk] = 0 // it is in the extent
		d.sizes[extent(f.disk)] = size
		return
	}
	d.sizes[f.disk] = size
}

func extent(descriptor string) string { return strings.TrimSuffix(descriptor, ".vmdk") + "-flat.vmdk" }

// sectors matches the size of a disk in its descriptor.
var sectors = regexp.MustCompile(`RW (\d+) `)

// writeDisk writes a descriptor of the same capacity, and an extent.
func writeDisk(from, to file) error {
	content, err := os.ReadFile(from.disk)
	if err != nil {
		return err
	}
	out := vmdk.Extent{Info: filepath.Base(extent(to.disk))}
	if m := sectors.FindSubmatch(content); m != nil {
		if out.Size, err = strconv.ParseInt(string(m[1]), 10, 64); err != nil {
			return err
		}
	}
	w, err := os.Create(to.disk)
	if err != nil {
		return err
	}
	if err := vmdk.NewDescriptor(out).Write(w); err != nil {
		_ = w.Close()
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return os.WriteFile(extent(to.disk), nil, 0o600)
}

func writeFile(from, to file) error {
	content, err := os.ReadFile(from.disk)
	if err != nil {
		return err
	}
	return os.WriteFile(to.disk, content, 0o600)
}
