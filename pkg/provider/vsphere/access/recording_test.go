// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/placement"
	"github.com/slipway-dev/slipway/test/simulated"
	"github.com/slipway-dev/slipway/test/vcenter"
)

// privateVM creates a VM whose data must not occur in a recording.
func privateVM(t *testing.T, ready vcenter.Ready) (id string, before mo.VirtualMachine) {
	t.Helper()
	f := find.NewFinder(simulated.Operator(t, ready).Client)
	template, err := f.VirtualMachine(t.Context(), "/DC0/vm/templates/"+vcenter.Template)
	if err != nil {
		t.Fatal(err)
	}
	folder, err := f.Folder(t.Context(), "/DC0/vm/templates")
	if err != nil {
		t.Fatal(err)
	}
	pool, err := f.ResourcePool(t.Context(), "/DC0/host/DC0_C0/Resources")
	if err != nil {
		t.Fatal(err)
	}
	at := pool.Reference()
	task, err := template.Clone(t.Context(), folder, "payroll", types.VirtualMachineCloneSpec{Location: types.VirtualMachineRelocateSpec{Pool: &at}})
	if err == nil {
		err = task.Wait(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	vm, err := f.VirtualMachine(t.Context(), "/DC0/vm/templates/payroll")
	if err != nil {
		t.Fatal(err)
	}
	if err := vm.Properties(t.Context(), vm.Reference(), []string{"config", "runtime.host"}, &before); err != nil {
		t.Fatal(err)
	}
	task, err = vm.Reconfigure(t.Context(), types.VirtualMachineConfigSpec{
		Annotation: "ask Bob of finance", ExtraConfig: []types.BaseOptionValue{&types.OptionValue{Key: "guestinfo.userdata", Value: "token-4711"}},
		VAppConfig: &types.VmConfigSpec{Property: []types.VAppPropertySpec{{
			ArrayUpdateSpec: types.ArrayUpdateSpec{Operation: types.ArrayUpdateOperationAdd},
			Info:            &types.VAppPropertyInfo{Key: 1, Id: "password", Type: `string["open-sesame","hunter2"]`, Value: "open-sesame", DefaultValue: "changeme"},
		}}},
	})
	if err == nil {
		err = task.Wait(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return vm.Reference().Value, before
}

func TestRecording_DoesNotIdentifyTheInstallation(t *testing.T) {
	ready := simulated.Start(t, func(o *vcenter.Options) { o.Clusters = 2 })
	id, before := privateVM(t, ready)
	s := newSession(t, ready)
	resolver := placement.New(placement.Options{Session: s, ResourcePool: "/DC0/host/DC0_C0/Resources", Datastore: "LocalDS_0", Network: "VM Network"})
	report, err := Check(t.Context(), s, resolver)
	if err != nil {
		t.Fatal(err)
	}
	recording, err := Record(t.Context(), s, report)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := recording.Write(&out); err != nil {
		t.Fatal(err)
	}
	for _, private := range []string{
		"Bob", "token-4711", "open-sesame", "hunter2", "changeme", vcenter.Template, "LocalDS_0", "DC0", "VM Network", vcenter.DefaultUsername,
		"payroll", id + `"`, before.Runtime.Host.Value + `"`, before.Config.Uuid, before.Config.InstanceUuid,
	} {
		if strings.Contains(out.String(), private) {
			t.Errorf("the recording contains %q", private)
		}
	}

	got, err := ReadRecording(&out)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for _, content := range got.Properties {
		kinds[content.Obj.Type]++
		if content.Obj.Type != "VirtualMachine" {
			continue
		}
		var vm mo.VirtualMachine
		if err := mo.LoadObjectContent([]types.ObjectContent{content}, &vm); err != nil {
			t.Fatal(err)
		}
		c := vm.Config
		if c.Annotation == "" {
			continue
		}
		if c.Annotation != "<18 bytes>" || c.GuestId != before.Config.GuestId || c.Version != before.Config.Version || c.Firmware != before.Config.Firmware {
			t.Errorf("annotation %q, guest ID %q, version %q, firmware %q", c.Annotation, c.GuestId, c.Version, c.Firmware)
		}
		extra := map[string]any{}
		for _, o := range c.ExtraConfig {
			extra[o.GetOptionValue().Key] = o.GetOptionValue().Value
		}
		if extra["guestinfo.userdata"] != "<10 bytes>" {
			t.Errorf("guestinfo.userdata is recorded as %v, want its length", extra["guestinfo.userdata"])
		}
		if p := c.VAppConfig.GetVmConfigInfo().Property; len(p) != 1 || p[0].Value != "<11 bytes>" || p[0].DefaultValue != "<8 bytes>" {
			t.Errorf("vApp properties %+v, want lengths", p)
		}
	}
	want := map[string]int{"VirtualMachine": 2, "HostSystem": 6, "ClusterComputeResource": 2, "ResourcePool": 2, "Datastore": 3}
	if diff := cmp.Diff(want, kinds); diff != "" || got.WithoutDRS != 0 || len(got.Tasks) == 0 {
		t.Errorf("objects (-want +got):\n%s, %d clusters without DRS, %d tasks", diff, got.WithoutDRS, len(got.Tasks))
	}
}
