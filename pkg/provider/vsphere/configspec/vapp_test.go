// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// A deployment with its own configuration may or may not copy the image's OVF properties. A new VM must have them
// in both cases.
func TestVApp_NewVMHasTheImagesOVFProperties(t *testing.T) {
	image := &types.VmConfigSpec{OvfEnvironmentTransport: []string{"iso"}, Property: []types.VAppPropertySpec{
		{ArrayUpdateSpec: types.ArrayUpdateSpec{Operation: "add"}, Info: &types.VAppPropertyInfo{Key: 0, Id: "hostname", Label: "Host name", DefaultValue: "app"}},
		{ArrayUpdateSpec: types.ArrayUpdateSpec{Operation: "add"}, Info: &types.VAppPropertyInfo{Key: 1, Id: "password", Type: "password"}},
	}}
	for _, tc := range []struct {
		name   string
		change func(*Desired, *mo.VirtualMachine)
		want   []string
	}{
		{"vSphere has not copied the properties", func(*Desired, *mo.VirtualMachine) {}, []string{"add 0 hostname=", "add 1 password="}},
		{"values in the spec", func(w *Desired, _ *mo.VirtualMachine) {
			w.Bootstrap = &provider.BootstrapData{VAppProperties: map[string]string{"password": "p", "more": "m"}}
		}, []string{"add 0 hostname=", "add 1 password=p", "add 2 more=m"}},
		{"vSphere has copied the properties", func(_ *Desired, vm *mo.VirtualMachine) {
			vm.Config.VAppConfig = &types.VmConfigInfo{Property: []types.VAppPropertyInfo{{Key: 7, Id: "hostname"}}}
		}, nil},
		{"cloud-init does not need the properties", func(w *Desired, _ *mo.VirtualMachine) {
			w.Effective.Bootstrap = &vmv1alpha1.VirtualMachineBootstrap{CloudInit: &vmv1alpha1.CloudInitBootstrap{}}
		}, nil},
		{"an administrator has removed the properties", func(w *Desired, _ *mo.VirtualMachine) { w.New = false }, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w, vm := want(), have()
			w.New, w.ImageProperties = true, image
			tc.change(&w, vm)
			var got []string
			spec := Spec(Differences(w, vm))
			if v := spec.VAppConfig; v != nil {
				for _, p := range v.GetVmConfigSpec().Property {
					got = append(got, fmt.Sprintf("%s %d %s=%s", p.Operation, p.Info.Key, p.Info.Id, p.Info.Value))
				}
				if diff := cmp.Diff([]string{"iso"}, v.GetVmConfigSpec().OvfEnvironmentTransport); diff != "" {
					t.Errorf("transport (-want +got):\n%s", diff)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("OVF properties (-want +got):\n%s", diff)
			}
			if image.Property[1].Info.Value != "" {
				t.Error("the image was changed")
			}
		})
	}
}
