// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"context"
	"fmt"
	"testing"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/vim25/mo"

	"github.com/slipway-dev/slipway/test/vsphereclient"
)

// Inventory returns the VMs of the simulated vCenter in the folder of the namespace, by name. Two VMs with one name
// fail the test.
func Inventory(t *testing.T, namespace string) map[string]mo.VirtualMachine {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Short)
	defer cancel()
	client := VCenterClient(ctx, t)
	defer func() { _ = client.Logout(context.WithoutCancel(ctx)) }()

	var folders []mo.Folder
	if err := vsphereclient.Everything(ctx, client, "Folder", []string{"name", "childEntity"}, &folders); err != nil {
		t.Fatal(err)
	}
	found := map[string]mo.VirtualMachine{}
	for _, folder := range folders {
		if folder.Name != namespace {
			continue
		}
		for _, ref := range folder.ChildEntity {
			if ref.Type != "VirtualMachine" {
				continue
			}
			var vm mo.VirtualMachine
			if err := client.RetrieveOne(ctx, ref, []string{"name", "runtime.powerState", "config.instanceUuid", "config.hardware",
				"config.latencySensitivity", "config.memoryReservationLockedToMax"}, &vm); err != nil {
				continue // deleted meanwhile
			}
			if _, twice := found[vm.Name]; twice {
				t.Fatalf("vCenter has two VMs named %q in folder %q", vm.Name, namespace)
			}
			found[vm.Name] = vm
		}
	}
	return found
}

// Gone waits until the folder of the namespace has no VM.
func Gone(t *testing.T, namespace string) {
	t.Helper()
	Eventually(t, Long, "vCenter holds no VM of "+namespace, func() error {
		if vms := Inventory(t, namespace); len(vms) > 0 {
			return fmt.Errorf("it holds %d", len(vms))
		}
		return nil
	})
}

// VCenterClient logs in to the simulated vCenter.
func VCenterClient(ctx context.Context, t *testing.T) *govmomi.Client {
	t.Helper()
	vcenter := Of(t).VCenter()
	client, err := vsphereclient.Login(ctx, vcenter.URL, vcenter.CAFile, vcenter.Username, vcenter.Password)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// Order sends a control request to the simulated vCenter and returns its response. It can be called after the end of
// the test.
func Order(t *testing.T, method, path string) []byte {
	t.Helper()
	answer, err := vsphereclient.Order(context.Background(), Of(t).VCenter().ControlURL, method, path)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}
