// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package root_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/test/vcenter"
	"github.com/slipway-dev/slipway/test/vsphereclient"
)

// foreignVMs makes VMs by hand, and returns their managed object IDs by instance UUID.
func foreignVMs(t *testing.T, vc *vcenter.Server, names ...string) map[string]string {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx := t.Context()
	client, err := vsphereclient.Login(ctx, vc.Ready().URL, vc.Ready().CAFile, vcenter.DefaultUsername, vcenter.DefaultPassword)
	must(err)
	f := find.NewFinder(client.Client)
	template, err := f.VirtualMachine(ctx, "/DC0/vm/templates/"+vcenter.Template)
	must(err)
	parent, err := f.Folder(ctx, "/DC0/vm/slipway")
	must(err)
	folder, err := parent.CreateFolder(ctx, "old")
	must(err)
	pool, err := f.ResourcePool(ctx, "/DC0/host/DC0_C0/Resources")
	must(err)
	ref, out := pool.Reference(), map[string]string{}
	for _, name := range names {
		id := uuid.NewString()
		task, err := template.Clone(ctx, folder, name, types.VirtualMachineCloneSpec{
			Location: types.VirtualMachineRelocateSpec{Pool: &ref}, Config: &types.VirtualMachineConfigSpec{InstanceUuid: id},
		})
		must(err)
		info, err := task.WaitForResult(ctx)
		must(err)
		out[id] = info.Result.(types.ManagedObjectReference).Value
	}
	return out
}
