// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package create

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-dev/slipway/cmd/virtctl/cli"
	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
)

// topologies are the values of --cpu-topology, without the deprecated spellings of the API.
var topologies = []string{"sockets", "cores", "threads", "spread", "any"}

// preferenceFlags describe a new preference.
type preferenceFlags struct {
	name, topology, machineType, storageClass string
	diskBus, interfaceModel                   string
	efi, secureBoot, namespaced               bool
}

func newCreatePreferenceCommand(f *cli.Factory) *cobra.Command {
	var flags preferenceFlags
	cmd := &cobra.Command{
		Use:   "preference",
		Short: "Print the manifest of a preference",
		Example: fmt.Sprintf("  %[1]s create preference --name linux.efi --efi --disk-bus virtio | kubectl apply -f -\n"+
			"  %[1]s create preference --namespaced --name db --cpu-topology cores", f.Program),
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
	cmd.Flags().StringVar(&flags.topology, "cpu-topology", "", "Preferred CPU topology: "+strings.Join(topologies, ", "))
	cmd.Flags().StringVar(&flags.machineType, "machine-type", "", "Preferred machine type: a virtual hardware version such as vmx-21")
	cmd.Flags().StringVar(&flags.storageClass, "volume-storage-class", "", "Preferred storage class")
	cmd.Flags().StringVar(&flags.diskBus, "disk-bus", "", "Preferred disk controller: virtio or scsi (pvscsi), sata, nvme")
	cmd.Flags().StringVar(&flags.interfaceModel, "interface-model", "", "Preferred network adapter: virtio (vmxnet3), e1000e, e1000")
	cmd.Flags().BoolVar(&flags.efi, "efi", false, "Prefer EFI")
	cmd.Flags().BoolVar(&flags.secureBoot, "secure-boot", false, "Prefer EFI with secure boot")
	cmd.Flags().BoolVar(&flags.namespaced, "namespaced", false, "Create a VirtualMachinePreference instead of a VirtualMachineClusterPreference")
	_ = cmd.MarkFlagRequired("name")
	_ = cmd.RegisterFlagCompletionFunc("cpu-topology", cobra.FixedCompletions(topologies, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// object returns the preference of the flags.
func (f *preferenceFlags) object() (cli.ManifestObject, error) {
	var spec itv1alpha1.VirtualMachinePreferenceSpec
	if f.topology != "" {
		if !slices.Contains(topologies, f.topology) {
			return nil, fmt.Errorf("--cpu-topology %q is not one of %s", f.topology, strings.Join(topologies, ", "))
		}
		topology := itv1alpha1.PreferredCPUTopology(f.topology)
		spec.CPU = &itv1alpha1.CPUPreferences{PreferredCPUTopology: &topology}
	}
	if f.machineType != "" {
		spec.Machine = &itv1alpha1.MachinePreferences{PreferredMachineType: f.machineType}
	}
	if f.storageClass != "" {
		spec.Volumes = &itv1alpha1.VolumePreferences{PreferredStorageClassName: f.storageClass}
	}
	if f.diskBus != "" || f.interfaceModel != "" {
		spec.Devices = &itv1alpha1.DevicePreferences{PreferredDiskBus: itv1alpha1.DiskBus(f.diskBus), PreferredInterfaceModel: f.interfaceModel}
	}
	if f.efi || f.secureBoot {
		efi := &itv1alpha1.EFI{}
		if f.secureBoot {
			efi.SecureBoot = &f.secureBoot
		}
		spec.Firmware = &itv1alpha1.FirmwarePreferences{PreferredEfi: efi}
	}
	if f.namespaced {
		t, o := cli.InstancetypeMeta("VirtualMachinePreference", f.name)
		return &itv1alpha1.VirtualMachinePreference{TypeMeta: t, ObjectMeta: o, Spec: spec}, nil
	}
	t, o := cli.InstancetypeMeta("VirtualMachineClusterPreference", f.name)
	return &itv1alpha1.VirtualMachineClusterPreference{TypeMeta: t, ObjectMeta: o, Spec: spec}, nil
}
