// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package create

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/slipway-dev/slipway/cmd/virtctl/cli"
	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
)

// instancetypeFlags describe a new instance type.
type instancetypeFlags struct {
	name, memory      string
	cpu               int32
	gpus, hostDevices []string
	namespaced        bool
}

func newCreateInstancetypeCommand(f *cli.Factory) *cobra.Command {
	var flags instancetypeFlags
	cmd := &cobra.Command{
		Use:   "instancetype",
		Short: "Print the manifest of an instance type",
		Example: fmt.Sprintf("  %[1]s create instancetype --name u1.small --cpu 1 --memory 2Gi | kubectl apply -f -\n"+
			"  %[1]s create instancetype --namespaced --name gpu --cpu 8 --memory 32Gi --gpu name:gpu1,devicename:grid_a100-10c", f.Program),
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			obj, err := flags.object()
			if err != nil {
				return err
			}
			return f.PrintManifest(obj, flags.namespaced)
		},
	}
	cmd.Flags().StringVar(&flags.name, "name", "", "Name (required)")
	cmd.Flags().Int32Var(&flags.cpu, "cpu", 0, "Number of vCPUs (required)")
	cmd.Flags().StringVar(&flags.memory, "memory", "", "Guest memory, for example 4Gi (required)")
	cmd.Flags().StringArrayVar(&flags.gpus, "gpu", nil, "GPU as name:NAME,devicename:PROFILE or VENDOR:DEVICE; may be repeated")
	cmd.Flags().StringArrayVar(&flags.hostDevices, "hostdevice", nil, "Host device as name:NAME,devicename:VENDOR:DEVICE, in hexadecimal; may be repeated")
	cmd.Flags().BoolVar(&flags.namespaced, "namespaced", false, "Create a VirtualMachineInstancetype instead of a VirtualMachineClusterInstancetype")
	for _, required := range []string{"name", "cpu", "memory"} {
		_ = cmd.MarkFlagRequired(required)
	}
	return cmd
}

// object returns the instance type of the flags.
func (f *instancetypeFlags) object() (cli.ManifestObject, error) {
	if f.cpu < 1 {
		return nil, fmt.Errorf("--cpu %d must be at least 1", f.cpu)
	}
	memory, err := parseQuantity("memory", f.memory)
	if err != nil {
		return nil, err
	}
	spec := itv1alpha1.VirtualMachineInstancetypeSpec{
		CPU:    itv1alpha1.CPUInstancetype{Guest: f.cpu},
		Memory: itv1alpha1.MemoryInstancetype{Guest: memory},
	}
	for _, value := range f.gpus {
		params, err := parseParams("gpu", value, "name", "devicename")
		if err != nil {
			return nil, err
		}
		spec.GPUs = append(spec.GPUs, itv1alpha1.GPU{Name: params["name"], DeviceName: params["devicename"]})
	}
	for _, value := range f.hostDevices {
		params, err := parseParams("hostdevice", value, "name", "devicename")
		if err != nil {
			return nil, err
		}
		spec.HostDevices = append(spec.HostDevices, itv1alpha1.HostDevice{Name: params["name"], DeviceName: params["devicename"]})
	}
	if f.namespaced {
		t, o := cli.InstancetypeMeta("VirtualMachineInstancetype", f.name)
		return &itv1alpha1.VirtualMachineInstancetype{TypeMeta: t, ObjectMeta: o, Spec: spec}, nil
	}
	t, o := cli.InstancetypeMeta("VirtualMachineClusterInstancetype", f.name)
	return &itv1alpha1.VirtualMachineClusterInstancetype{TypeMeta: t, ObjectMeta: o, Spec: spec}, nil
}
