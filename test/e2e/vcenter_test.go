// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"testing"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/vim25/mo"

	"github.com/slipway-dev/slipway/test/vsphereclient"
)

// inventory lists the VMs of the simulated vCenter whose folder has the name
// of the namespace, by name. A name that is there twice fails the test.
func inventory(t *testing.T, namespace string) map[string]mo.VirtualMachine {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), short)
	defer cancel()
	client := vcenterClient(ctx, t)
	defer func() { _ = client.Logout(context.WithoutCancel(ctx)) }()

	var vms []mo.VirtualMachine
	if err := vsphereclient.Everything(ctx, client, "VirtualMachine", []string{"name", "parent", "runtime.powerState", "config.instanceUuid", "config.hardware",
		"config.latencySensitivity", "config.memoryReservationLockedToMax"}, &vms); err != nil {
		t.Fatal(err)
	}
	folders := map[string]string{}
	found := map[string]mo.VirtualMachine{}
	for _, vm := range vms {
		if vm.Parent == nil {
			continue
		}
		if _, ok := folders[vm.Parent.Value]; !ok {
			var folder mo.Folder
			if err := client.RetrieveOne(ctx, *vm.Parent, []string{"name"}, &folder); err != nil {
				continue // deleted meanwhile
			}
			folders[vm.Parent.Value] = folder.Name
		}
		if folders[vm.Parent.Value] != namespace {
			continue
		}
		if _, twice := found[vm.Name]; twice {
			t.Fatalf("vCenter has two VMs named %q in folder %q", vm.Name, namespace)
		}
		found[vm.Name] = vm
	}
	return found
}

// gone waits until the folder of the namespace holds no VM.
func gone(t *testing.T, namespace string) {
	t.Helper()
	eventually(t, long, "vCenter holds no VM of "+namespace, func() error {
		if vms := inventory(t, namespace); len(vms) > 0 {
			return fmt.Errorf("it holds %d", len(vms))
		}
		return nil
	})
}

// vcenterClient logs in.
func vcenterClient(ctx context.Context, t *testing.T) *govmomi.Client {
	t.Helper()
	vcenter := environment(t).VCenter()
	client, err := vsphereclient.Login(ctx, vcenter.URL, vcenter.CAFile, vcenter.Username, vcenter.Password)
	if err != nil {
		t.Fatal(err)
	}
	return client
}
