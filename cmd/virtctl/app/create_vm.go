// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/vm/validation"
)

// vmFlags describe a new virtual machine.
type vmFlags struct {
	name, image, class       string
	instancetype, preference string
	cpu                      int32
	memory                   string
	storageClass, network    string
	powerState               string
	cloudInitSecret          string
	inferInstancetype        bool
	inferPreference          bool
}

func newCreateVMCommand(f *Factory) *cobra.Command {
	var flags vmFlags
	cmd := &cobra.Command{
		Use:   "vm",
		Short: "Print the manifest of a virtual machine",
		Example: fmt.Sprintf("  %[1]s create vm --name web-1 --image photon-5 --instancetype u1.small --preference linux.efi | kubectl apply -f -\n"+
			"  %[1]s create vm --name db-1 --image ubuntu --cpu 4 --memory 16Gi\n"+
			"  %[1]s create vm --name app --image photon-5 --infer-instancetype --infer-preference", f.program),
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			vm, err := flags.object()
			if err != nil {
				return err
			}
			return f.printManifest(vm, true)
		},
	}
	cmd.Flags().StringVar(&flags.name, "name", "", "Name (required)")
	cmd.Flags().StringVar(&flags.image, "image", "", "Image to create from as [KIND/]NAME (required)")
	cmd.Flags().StringVar(&flags.instancetype, "instancetype", "", "Instance type as [KIND/]NAME")
	cmd.Flags().StringVar(&flags.preference, "preference", "", "Preference as [KIND/]NAME")
	cmd.Flags().BoolVar(&flags.inferInstancetype, "infer-instancetype", false, "Take the instance type that the image's labels name")
	cmd.Flags().BoolVar(&flags.inferPreference, "infer-preference", false, "Take the preference that the image's labels name")
	cmd.Flags().StringVar(&flags.class, "class", "", "VirtualMachineClass, instead of an instance type")
	cmd.Flags().Int32Var(&flags.cpu, "cpu", 0, "Number of vCPUs, instead of an instance type")
	cmd.Flags().StringVar(&flags.memory, "memory", "", "Guest memory, with --cpu")
	cmd.Flags().StringVar(&flags.storageClass, "storage-class", "", "Storage class")
	cmd.Flags().StringVar(&flags.network, "network", "", "vSphere network of the interface eth0; the server's default when not given")
	cmd.Flags().StringVar(&flags.powerState, "power-state", "", "PoweredOn, PoweredOff or Suspended; the server powers on when not given")
	cmd.Flags().StringVar(&flags.cloudInitSecret, "cloud-init-secret", "", "Secret with the cloud-init user data under the key user-data")
	completeFixed(cmd, "power-state", string(vmv1alpha1.PoweredOn), string(vmv1alpha1.PoweredOff), string(vmv1alpha1.Suspended))
	_ = cmd.MarkFlagRequired("name")
	_ = cmd.MarkFlagRequired("image")
	return cmd
}

// object returns the virtual machine that the flags describe.
func (f *vmFlags) object() (*vmv1alpha1.VirtualMachine, error) {
	image, err := imageRef(f.image)
	if err != nil {
		return nil, err
	}
	vm := &vmv1alpha1.VirtualMachine{
		TypeMeta:   metav1.TypeMeta{APIVersion: vmv1alpha1.SchemeGroupVersion.String(), Kind: "VirtualMachine"},
		ObjectMeta: metav1.ObjectMeta{Name: f.name},
		Spec: vmv1alpha1.VirtualMachineSpec{
			Image:        &image,
			StorageClass: f.storageClass,
			PowerState:   vmv1alpha1.PowerState(f.powerState),
		},
	}
	if err := f.setSize(&vm.Spec); err != nil {
		return nil, err
	}
	switch kind, name := splitKind(f.preference); {
	case f.inferPreference && name != "":
		return nil, fmt.Errorf("--preference and --infer-preference exclude each other")
	case f.inferPreference:
		vm.Spec.Preference = &vmv1alpha1.PreferenceMatcher{InferFromVolume: inferFromImage}
	case name != "":
		vm.Spec.Preference = &vmv1alpha1.PreferenceMatcher{Name: name, Kind: kind}
	}
	if f.network != "" {
		vm.Spec.Network = &vmv1alpha1.VirtualMachineNetworkSpec{
			Interfaces: []vmv1alpha1.VirtualMachineNetworkInterface{{Name: "eth0", Network: f.network}},
		}
	}
	if f.cloudInitSecret != "" {
		vm.Spec.Bootstrap = &vmv1alpha1.VirtualMachineBootstrap{CloudInit: &vmv1alpha1.CloudInitBootstrap{
			RawCloudConfig: &vmv1alpha1.SecretKeySelector{Name: f.cloudInitSecret, Key: "user-data"},
		}}
	}
	return vm, nil
}

// inferFromImage is the name that inferFromVolume knows the boot image by.
const inferFromImage = "image"

// setSize sets the one source of size that the flags choose.
func (f *vmFlags) setSize(spec *vmv1alpha1.VirtualMachineSpec) error {
	var given []string
	for flag, set := range map[string]bool{
		"--instancetype": f.instancetype != "", "--infer-instancetype": f.inferInstancetype,
		"--class": f.class != "", "--cpu with --memory": f.cpu != 0 || f.memory != "",
	} {
		if set {
			given = append(given, flag)
		}
	}
	if len(given) != 1 {
		return fmt.Errorf("the size comes from exactly one of --instancetype, --infer-instancetype, --class, or --cpu with --memory; %d given", len(given))
	}
	switch {
	case f.instancetype != "":
		kind, name := splitKind(f.instancetype)
		spec.Instancetype = &vmv1alpha1.InstancetypeMatcher{Name: name, Kind: kind}
	case f.inferInstancetype:
		spec.Instancetype = &vmv1alpha1.InstancetypeMatcher{InferFromVolume: inferFromImage}
	case f.class != "":
		spec.ClassName = f.class
	default:
		if f.cpu < 1 {
			return fmt.Errorf("--cpu %d must be at least 1", f.cpu)
		}
		if f.memory == "" {
			return fmt.Errorf("--cpu %d needs --memory beside it, such as --memory 4Gi", f.cpu)
		}
		memory, err := parseQuantity("memory", f.memory)
		if err != nil {
			return err
		}
		spec.CPU = &vmv1alpha1.VirtualMachineCPU{Sockets: f.cpu}
		spec.Memory = &vmv1alpha1.VirtualMachineMemory{Guest: &memory}
		if errs := validation.ValidateMemory(spec.Memory, nil); len(errs) > 0 {
			return fmt.Errorf("--memory %s: %s", f.memory, errs[0].Detail)
		}
	}
	return nil
}
