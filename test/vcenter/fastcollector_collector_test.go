// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter_test

import (
	"context"
	"crypto/tls"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/test/vcenter/fastcollector"
	"github.com/slipway-dev/slipway/test/vcenter/sight"
)

const limit = time.Minute

// fastcollectorConnect returns a client of a simulator with the fast collector.
func fastcollectorConnect(t *testing.T) (context.Context, *govmomi.Client, *fastcollector.Hub) {
	t.Helper()
	model := simulator.VPX()
	if err := model.Create(); err != nil {
		t.Fatal(err)
	}
	model.Service.TLS = new(tls.Config)
	hub := fastcollector.Install(model.Map(), model.ServiceContent.PropertyCollector, sight.New(model.Map()))
	server := model.Service.NewServer()
	t.Cleanup(func() {
		hub.Close()
		server.Close()
		model.Remove()
	})
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	c, err := govmomi.NewClient(ctx, server.URL, true)
	if err != nil {
		t.Fatal(err)
	}
	return ctx, c, hub
}

// open creates a collector with one filter.
func open(ctx context.Context, t *testing.T, c *govmomi.Client, spec types.PropertyFilterSpec) *property.Collector {
	t.Helper()
	pc, err := property.DefaultCollector(c.Client).Create(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pc.CreateFilter(ctx, types.CreateFilter{Spec: spec}); err != nil {
		t.Fatal(err)
	}
	return pc
}

// poll requests the updates after a version. With seconds 0 it does not wait.
func poll(ctx context.Context, c *govmomi.Client, pc *property.Collector, version string, seconds int32) (*types.UpdateSet, error) {
	res, err := methods.WaitForUpdatesEx(ctx, c, &types.WaitForUpdatesEx{
		This: pc.Reference(), Version: version, Options: &types.WaitOptions{MaxWaitSeconds: &seconds},
	})
	if err != nil {
		return nil, err
	}
	return res.Returnval, nil
}

// kinds counts the object updates by kind.
func kinds(set *types.UpdateSet) map[types.ObjectUpdateKind]int {
	counts := map[types.ObjectUpdateKind]int{}
	if set == nil {
		return counts
	}
	for _, f := range set.FilterSet {
		for _, o := range f.ObjectSet {
			counts[o.Kind]++
		}
	}
	return counts
}

func machines(ctx context.Context, t *testing.T, c *govmomi.Client) []types.ManagedObjectReference {
	t.Helper()
	v, err := view.NewManager(c.Client).CreateContainerView(ctx, c.ServiceContent.RootFolder, []string{"VirtualMachine"}, true)
	if err != nil {
		t.Fatal(err)
	}
	refs, err := v.Find(ctx, []string{"VirtualMachine"}, nil)
	if err != nil || len(refs) < 2 {
		t.Fatalf("machines: %v, %v", refs, err)
	}
	return refs
}

func named(ref types.ManagedObjectReference, set ...types.BaseSelectionSpec) types.PropertyFilterSpec {
	return types.PropertyFilterSpec{
		ObjectSet: []types.ObjectSpec{{Obj: ref, Skip: types.NewBool(len(set) != 0), SelectSet: set}},
		PropSet:   []types.PropertySpec{{Type: "VirtualMachine", PathSet: []string{"name", "config.annotation"}}},
	}
}

func annotate(ctx context.Context, t *testing.T, c *govmomi.Client, ref types.ManagedObjectReference, text string) {
	t.Helper()
	task, err := object.NewVirtualMachine(c.Client, ref).Reconfigure(ctx, types.VirtualMachineConfigSpec{Annotation: text})
	if err == nil {
		err = task.Wait(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestPropertyCollector_ChecksVersions(t *testing.T) {
	ctx, c, _ := fastcollectorConnect(t)
	vm := machines(ctx, t, c)[0]
	pc := open(ctx, t, c, named(vm))

	if _, err := poll(ctx, c, pc, "7", 0); !fault.Is(err, &types.InvalidCollectorVersion{}) {
		t.Errorf("a version that was never given: got %v, want InvalidCollectorVersion", err)
	}
	first, err := poll(ctx, c, pc, "", 0)
	if err != nil || kinds(first)[types.ObjectUpdateKindEnter] != 1 {
		t.Fatalf("the first answer is %v, %v", first, err)
	}
	if idle, err := poll(ctx, c, pc, first.Version, 0); err != nil || idle != nil {
		t.Errorf("without a change the answer is %v, %v", idle, err)
	}
	annotate(ctx, t, c, vm, "one")
	second, err := poll(ctx, c, pc, first.Version, 30)
	if err != nil || kinds(second)[types.ObjectUpdateKindModify] != 1 {
		t.Fatalf("after a change the answer is %v, %v", second, err)
	}
	again, err := poll(ctx, c, pc, first.Version, 0)
	if diff := cmp.Diff(second, again); err != nil || diff != "" {
		t.Errorf("a lost response that is requested again differs (error %v):\n%s", err, diff)
	}
	annotate(ctx, t, c, vm, "two")
	third, err := poll(ctx, c, pc, second.Version, 30)
	if err != nil || third == nil {
		t.Fatalf("after a second change the answer is %v, %v", third, err)
	}
	if _, err := poll(ctx, c, pc, first.Version, 0); !fault.Is(err, &types.InvalidCollectorVersion{}) {
		t.Errorf("a version before the last: got %v, want InvalidCollectorVersion", err)
	}
}

func TestPropertyCollector_FollowsAListView(t *testing.T) {
	ctx, c, _ := fastcollectorConnect(t)
	refs := machines(ctx, t, c)
	list, err := view.NewManager(c.Client).CreateListView(ctx, refs[:1])
	if err != nil {
		t.Fatal(err)
	}
	pc := open(ctx, t, c, named(list.Reference(), &types.TraversalSpec{Type: "ListView", Path: "view"}))
	set, err := poll(ctx, c, pc, "", 0)
	if err != nil || kinds(set)[types.ObjectUpdateKindEnter] != 1 {
		t.Fatalf("at first: %v, %v", set, err)
	}
	if _, err := list.Add(ctx, refs[1:2]); err != nil {
		t.Fatal(err)
	}
	if set, err = poll(ctx, c, pc, set.Version, 30); err != nil || kinds(set)[types.ObjectUpdateKindEnter] != 1 {
		t.Fatalf("after an addition: %v, %v", set, err)
	}
	if _, err := list.Remove(ctx, refs[:1]); err != nil {
		t.Fatal(err)
	}
	if set, err = poll(ctx, c, pc, set.Version, 30); err != nil || kinds(set)[types.ObjectUpdateKindLeave] != 1 {
		t.Fatalf("after a removal: %v, %v", set, err)
	}
	annotate(ctx, t, c, refs[0], "not watched")
	if set, err = poll(ctx, c, pc, set.Version, 0); err != nil || set != nil {
		t.Errorf("a change of a former member was sent: %v, %v", set, err)
	}
}

func TestPropertyCollector_FollowsFolders(t *testing.T) {
	ctx, c, _ := fastcollectorConnect(t)
	refs := machines(ctx, t, c)
	parent, err := object.NewVirtualMachine(c.Client, refs[0]).ResourcePool(ctx)
	if err != nil {
		t.Fatal(err)
	}
	vmFolder, err := object.NewSearchIndex(c.Client).FindByInventoryPath(ctx, "/DC0/vm")
	if err != nil {
		t.Fatal(err)
	}
	folder := vmFolder.Reference()
	pc := open(ctx, t, c, named(folder, &types.TraversalSpec{Type: "Folder", Path: "childEntity"}))
	set, err := poll(ctx, c, pc, "", 0)
	if err != nil || kinds(set)[types.ObjectUpdateKindEnter] != len(refs) {
		t.Fatalf("at first: %v, %v", set, err)
	}
	task, err := object.NewFolder(c.Client, folder).CreateVM(ctx, types.VirtualMachineConfigSpec{
		Name: "new", Files: &types.VirtualMachineFileInfo{VmPathName: "[LocalDS_0]"},
	}, parent, nil)
	if err != nil {
		t.Fatal(err)
	}
	info, err := task.WaitForResult(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if set, err = poll(ctx, c, pc, set.Version, 30); err != nil || kinds(set)[types.ObjectUpdateKindEnter] != 1 {
		t.Fatalf("after a creation: %v, %v", set, err)
	}
	ref, _ := info.Result.(types.ManagedObjectReference)
	if task, err = object.NewVirtualMachine(c.Client, ref).Destroy(ctx); err == nil {
		err = task.Wait(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	for left := 0; left == 0; { // other updates of the machine may precede it
		if set, err = poll(ctx, c, pc, set.Version, 30); err != nil || set == nil {
			t.Fatalf("after a destruction: %v, %v", set, err)
		}
		left = kinds(set)[types.ObjectUpdateKindLeave]
	}
}

func TestPropertyCollector_WaitEndsWhenCanceledReplacedOrClosed(t *testing.T) {
	ctx, c, hub := fastcollectorConnect(t)
	vm := machines(ctx, t, c)[0]
	for name, end := range map[string]func(*property.Collector, string) error{
		"cancelled": func(pc *property.Collector, _ string) error { return pc.CancelWaitForUpdates(ctx) },
		"client disconnected": func(pc *property.Collector, _ string) error {
			hub.Cancel(pc.Reference())
			return nil
		},
		"replaced": func(pc *property.Collector, version string) error {
			_, err := poll(ctx, c, pc, version, 0)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) { endsWait(ctx, t, c, vm, end) })
	}
	// Last, because it cannot be undone.
	t.Run("closed", func(t *testing.T) {
		endsWait(ctx, t, c, vm, func(*property.Collector, string) error {
			hub.Close()
			return nil
		})
	})
}

// endsWait checks that end makes a wait fail with RequestCanceled, whether it
// comes before or after the wait has begun on the server.
func endsWait(ctx context.Context, t *testing.T, c *govmomi.Client, vm types.ManagedObjectReference, end func(*property.Collector, string) error) {
	t.Helper()
	pc := open(ctx, t, c, named(vm))
	set, err := poll(ctx, c, pc, "", 0)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := poll(ctx, c, pc, set.Version, 60)
		ended <- err
	}()
	for {
		if err := end(pc, set.Version); err != nil && !fault.Is(err, &types.RequestCanceled{}) {
			t.Fatal(err)
		}
		select {
		case err := <-ended:
			if !fault.Is(err, &types.RequestCanceled{}) {
				t.Errorf("the wait ended with %v, want RequestCanceled", err)
			}
			return
		case <-time.After(10 * time.Millisecond): // the wait may not have begun, so it is canceled again
		}
	}
}
