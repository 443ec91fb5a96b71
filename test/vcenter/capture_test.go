// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/task"
	"github.com/vmware/govmomi/vapi/library"
	"github.com/vmware/govmomi/vapi/vcenter"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/test/vcenter/contentlibrary"
)

// captures sends a control request that sets the result of captures.
func captures(t *testing.T, s *Server, query string) {
	t.Helper()
	mux := http.NewServeMux()
	s.captures.Routes(mux)
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest(http.MethodPut, "/captures?"+query, nil))
	if w.Code != http.StatusOK {
		t.Fatalf("PUT /captures?%s: %d", query, w.Code)
	}
}

func TestCapture_CreatesALibraryItemFromAPoweredOffVM(t *testing.T) {
	ctx := testContext(t)
	s := startServer(t, Options{})
	s.Deployer().DisksOnly(false)
	c := connect(ctx, t, s)
	r := connectREST(ctx, t, c)
	m, captured := library.NewManager(r), vcenter.NewManager(r)
	lib, err := m.GetLibraryByName(ctx, contentlibrary.Library)
	if err != nil {
		t.Fatal(err)
	}
	p := findPlaces(ctx, t, c)
	spec := machine("web")
	spec.ExtraConfig = []types.BaseOptionValue{&types.OptionValue{Key: "guestinfo.secret", Value: "secret"}}
	spec.NumCPUs = 3
	vm := create(ctx, t, c, p, spec)
	request := func(name string) vcenter.OVF {
		return vcenter.OVF{
			Spec: vcenter.CreateSpec{Name: name, Description: "of web"}, Source: vcenter.ResourceID{Value: vm.Reference().Value},
			Target: vcenter.LibraryTarget{LibraryID: lib.ID},
		}
	}
	id, err := captured.CreateOVF(ctx, request("published"))
	if err != nil {
		t.Fatal(err)
	}
	item, err := m.GetLibraryItem(ctx, id)
	if err != nil || item.Name != "published" || item.Description == nil || *item.Description != "of web" || item.Type != library.ItemTypeOVF {
		t.Fatalf("the item is %+v, %v", item, err)
	}
	ref, err := captured.DeployLibraryItem(ctx, id, deployment(t, p, "copy", uuid.NewString()))
	if err != nil {
		t.Fatal(err)
	}
	deployed := read(ctx, t, c, object.NewVirtualMachine(c.Client, *ref))
	if secret, _ := object.OptionValueList(deployed.Config.ExtraConfig).GetString("guestinfo.secret"); secret != "" {
		t.Error("the item has the extra configuration of the VM, which was not requested")
	}
	if deployed.Config.GuestId != "ubuntu64Guest" || len(object.VirtualDeviceList(deployed.Config.Hardware.Device).SelectByType((*types.VirtualDisk)(nil))) != 1 {
		t.Errorf("a VM of the item is no copy: %+v", deployed.Config)
	}
	if _, err := captured.CreateOVF(ctx, request("published")); err == nil {
		t.Error("a second item of a name was made")
	}

	// A new version keeps name and description.
	again := request("another name")
	again.Spec.Description, again.Target.LibraryItemID = "another description", id
	if got, err := captured.CreateOVF(ctx, again); err != nil || got != id {
		t.Errorf("a new version is %s, %v; want one of %s", got, err, id)
	}
	if item, err := m.GetLibraryItem(ctx, id); err != nil || item.Name != "published" || *item.Description != "of web" {
		t.Errorf("after a new version the item is %+v, %v", item, err)
	}

	captures(t, s, "fail=no+space")
	if _, err := captured.CreateOVF(ctx, request("failed")); err == nil || !strings.Contains(err.Error(), "no space") {
		t.Errorf("a capture that fails: %v", err)
	}
	if found, err := m.FindLibraryItems(ctx, library.FindItem{Name: "failed"}); err != nil || len(found) != 0 {
		t.Errorf("items of a capture that failed: %v, %v", found, err)
	}
	captures(t, s, "fail=no+space&remains=true")
	_, _ = captured.CreateOVF(ctx, request("half"))
	if found, err := m.FindLibraryItems(ctx, library.FindItem{Name: "half"}); err != nil || len(found) != 1 {
		t.Errorf("items of an incomplete capture: %v, %v", found, err)
	}
	on, err := vm.PowerOn(ctx)
	wait(ctx, t, on, err)
	if _, err := captured.CreateOVF(ctx, request("running")); err == nil || !strings.Contains(err.Error(), "400") {
		t.Errorf("capturing a VM that runs: %v, want a 400", err)
	}
}

func TestCapture_IsFoundByActivationIDAndCanceled(t *testing.T) {
	ctx := testContext(t)
	s := startServer(t, Options{})
	c := connect(ctx, t, s)
	r := connectREST(ctx, t, c)
	m := library.NewManager(r)
	lib, err := m.GetLibraryByName(ctx, contentlibrary.Library)
	if err != nil {
		t.Fatal(err)
	}
	vm := create(ctx, t, c, findPlaces(ctx, t, c), machine("web"))
	captures(t, s, "ms=3600000")
	done := make(chan error, 1)
	go func() {
		_, err := vcenter.NewManager(r).CreateOVF(r.WithHeader(ctx, http.Header{"vapi-ctx-actid": {"request-1"}}), vcenter.OVF{
			Spec: vcenter.CreateSpec{Name: "published"}, Source: vcenter.ResourceID{Value: vm.Reference().Value}, Target: vcenter.LibraryTarget{LibraryID: lib.ID},
		})
		done <- err
	}()
	find := func(id string) []types.TaskInfo {
		collector, err := task.NewManager(c.Client).CreateCollectorForTasks(ctx, types.TaskFilterSpec{ActivationId: []string{id}})
		if err != nil {
			t.Fatal(err)
		}
		page, err := collector.ReadNextTasks(ctx, 10)
		if err != nil {
			t.Fatal(err)
		}
		return page
	}
	eventually(ctx, t, "the task is found", func() bool {
		return slices.ContainsFunc(find("request-1"), func(i types.TaskInfo) bool { return i.State == types.TaskInfoStateRunning })
	})
	if others := find("request-2"); len(others) != 0 {
		t.Errorf("tasks of another activation ID: %+v", others)
	}
	if on, err := vm.PowerOn(ctx); err == nil && on.Wait(ctx) == nil {
		t.Error("a VM was powered on while it was captured")
	}
	if _, err := methods.CancelTask(ctx, c, &types.CancelTask{This: find("request-1")[0].Task}); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err == nil {
		t.Error("a capture that was cancelled succeeded")
	}
	on, err := vm.PowerOn(ctx)
	wait(ctx, t, on, err)
}
