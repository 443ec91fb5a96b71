// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/apimachinery/pkg/api/resource"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/vimfault"
)

func refusal(f types.BaseMethodFault) error {
	return fmt.Errorf("reconfiguring vm-1: %w", &vimfault.TaskError{Fault: &types.LocalizedMethodFault{Fault: f}})
}

// manyFields returns a request that sets many fields of a VM that has none of them.
func manyFields() (types.VirtualMachineConfigSpec, []Difference) {
	w, vm := want(), have()
	w.Effective.GuestID = "1"
	w.Effective.CPU.Sockets = 4
	w.Effective.Firmware = &vmv1alpha1.VirtualMachineFirmware{Bootloader: "EFI", SecureBoot: ptr(true), UUID: strings.Repeat("x", 1000)}
	w.Effective.Bootstrap = &vmv1alpha1.VirtualMachineBootstrap{CloudInit: &vmv1alpha1.CloudInitBootstrap{}}
	w.Effective.Network.Interfaces = append(w.Effective.Network.Interfaces, vmv1alpha1.VirtualMachineNetworkInterface{Name: "eth1", Network: "other"})
	w.Bootstrap = &provider.BootstrapData{CloudConfig: []byte("secret")}
	diffs := Differences(w, vm)
	return Spec(diffs), diffs
}

func TestBlame_NamesTheFieldOfTheProperty(t *testing.T) {
	invalid := func(property string) types.BaseMethodFault { return &types.InvalidArgument{InvalidProperty: property} }
	device := types.InvalidDeviceSpec{InvalidVmConfig: types.InvalidVmConfig{Property: "virtualDeviceSpec.device.backing"}}
	for name, tc := range map[string]struct {
		fault types.BaseMethodFault
		want  string
	}{
		"a property":                          {invalid("configSpec.guestId"), `spec.guestID "1": reconfiguring`},
		"a property of a clone":               {invalid("spec.config.guestId"), `spec.guestID "1": reconfiguring`},
		"a property without a prefix":         {invalid("numCPUs"), `spec.cpu.sockets "4": reconfiguring`},
		"a property of an object":             {&types.InvalidVmConfig{Property: "configSpec.bootOptions.efiSecureBootEnabled"}, `spec.firmware.secureBoot "true": reconfiguring`},
		"an object":                           {invalid("configSpec.bootOptions"), `spec.firmware.secureBoot "true": reconfiguring`},
		"a property that two fields set":      {invalid("configSpec.firmware"), `spec.firmware.bootloader "EFI", spec.firmware.secureBoot "true": reconfiguring`},
		"a long value":                        {invalid("configSpec.uuid"), `spec.firmware.uuid "` + strings.Repeat("x", maxValueLength) + `…": reconfiguring`},
		"a device by its path":                {invalid("configSpec.deviceChange[0].device.backing"), `spec.network.interfaces[eth1] "vmxnet3 on other": reconfiguring`},
		"a device by its index":               {&types.InvalidDeviceBacking{InvalidDeviceSpec: device}, `spec.network.interfaces[eth1] "vmxnet3 on other": reconfiguring`},
		"devices":                             {invalid("spec.deviceChange.device"), `spec.network.interfaces[eth1] "vmxnet3 on other": reconfiguring`},
		"a fault as the cause":                {&types.GenericVmConfigFault{VmConfigFault: types.VmConfigFault{VimFault: types.VimFault{MethodFault: types.MethodFault{FaultCause: &types.LocalizedMethodFault{Fault: invalid("configSpec.guestId")}}}}}, `spec.guestID "1": reconfiguring`},
		"a property that no field sets":       {invalid("configSpec.swapPlacement"), `reconfiguring vm-1: InvalidArgument (configSpec.swapPlacement); the request set spec.cpu.sockets "4", spec.firmware.bootloader "EFI", spec.firmware.secureBoot "true"`},
		"a device that is not in the request": {invalid("deviceChange[7].device"), `reconfiguring vm-1: InvalidArgument (deviceChange[7].device); the request set spec.cpu.sockets "4"`},
		"no property":                         {invalid(""), `reconfiguring vm-1: InvalidArgument; the request set spec.cpu.sockets "4"`},
	} {
		t.Run(name, func(t *testing.T) {
			spec, diffs := manyFields()
			err := refusal(tc.fault)
			got := AddFields(err, spec, diffs)
			if !strings.HasPrefix(got.Error(), tc.want) {
				t.Errorf("error is\n%s\nwant\n%s…", got, tc.want)
			}
			if !errors.Is(got, err) || vimfault.KindOf(got) != vimfault.KindOf(err) {
				t.Errorf("%v does not wrap vSphere's error", got)
			}
		})
	}
}

func TestBlame_NamesOnlyDisksWhenTheDatastoreIsFull(t *testing.T) {
	w, vm := want(), have()
	w.Effective.CPU.Sockets = 4
	w.Effective.Volumes = append(w.Effective.Volumes, vmv1alpha1.VirtualMachineVolume{Name: "data", Disk: &vmv1alpha1.DiskVolumeSource{Capacity: resource.NewQuantity(10<<30, resource.BinarySI)}})
	diffs := Differences(w, vm)
	full := refusal(&types.GenericVmConfigFault{VmConfigFault: types.VmConfigFault{VimFault: types.VimFault{MethodFault: types.MethodFault{
		FaultCause: &types.LocalizedMethodFault{Fault: &types.NoDiskSpace{Datastore: "ds1"}}}}}})
	const want = "reconfiguring vm-1: GenericVmConfigFault (because of NoDiskSpace): datastore ds1 has too little free space; the request set spec.volumes[data] "
	if got := AddFields(full, Spec(diffs), diffs).Error(); !strings.HasPrefix(got, want) || !strings.Contains(got, "10Gi") || strings.Contains(got, "spec.cpu") {
		t.Errorf("error is\n%s\nwant\n%s… with the size alone", got, want)
	}
}

func TestBlame_NamesAllFieldsWithoutAProperty(t *testing.T) {
	spec, diffs := manyFields()
	got := AddFields(refusal(&types.NotSupported{}), spec, diffs).Error()
	for _, want := range []string{`spec.guestID "1"`, `spec.firmware.bootloader "EFI"`, `spec.network.interfaces[eth1] "vmxnet3 on other"`, "spec.bootstrap.cloudInit"} {
		if n := strings.Count(got, want); n != 1 {
			t.Errorf("%q occurs %d times in %s", want, n, got)
		}
	}
	for _, secret := range []string{"c2VjcmV0", "changed", "metadata."} {
		if strings.Contains(got, secret) {
			t.Errorf("%q is in %s", secret, got)
		}
	}
}

func TestBlame_KeepsErrorsThatNoValueCauses(t *testing.T) {
	spec, diffs := manyFields()
	for _, err := range []error{nil, io.EOF, refusal(&types.TaskInProgress{}), refusal(&types.ConcurrentAccess{}), refusal(&types.ManagedObjectNotFound{})} {
		if got := AddFields(err, spec, diffs); got != err { //nolint:errorlint // must be the identical error
			t.Errorf("%v became %v", err, got)
		}
	}
}
