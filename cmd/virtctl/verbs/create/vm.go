// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package create

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/cmd/virtctl/cli"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/vm/validation"
)

// VMFlags describe a new virtual machine.
type VMFlags struct {
	Name, Image, Class       string
	Instancetype, Preference string
	CPU                      int32
	Memory                   string
	StorageClass, Network    string
	PowerState               string
	cloudInitSecret          string
	inferInstancetype        bool
	inferPreference          bool
}

func newCreateVMCommand(f *cli.Factory) *cobra.Command {
	var flags VMFlags
	cmd := &cobra.Command{
		Use:   "vm",
		Short: "Print the manifest of a virtual machine",
		Example: fmt.Sprintf("  %[1]s create vm --name web-1 --image photon-5 --instancetype u1.small --preference linux.efi | kubectl apply -f -\n"+
			"  %[1]s create vm --name db-1 --image ubuntu --cpu 4 --memory 16Gi\n"+
			"  %[1]s create vm --name app --image photon-5 --infer-instancetype --infer-preference", f.Program),
		Long: "Print the manifest of a virtual machine.\n\n" +
			"An --image without KIND is a VirtualMachineImage. If the namespace has no such image, and a\n" +
			"ClusterVirtualMachineImage has the name, the manifest refers to that one.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			vm, err := flags.Object()
			if err != nil {
				return err
			}
			resolveImage(cmd.Context(), f, vm.Spec.Image)
			return f.PrintManifest(vm, true)
		},
	}
	cmd.Flags().StringVar(&flags.Name, "name", "", "Name (required)")
	cmd.Flags().StringVar(&flags.Image, "image", "", "Image as [KIND/]NAME (required)")
	cmd.Flags().StringVar(&flags.Instancetype, "instancetype", "", "Instance type as [KIND/]NAME")
	cmd.Flags().StringVar(&flags.Preference, "preference", "", "Preference as [KIND/]NAME")
	cmd.Flags().BoolVar(&flags.inferInstancetype, "infer-instancetype", false, "Use the instance type in the image's labels")
	cmd.Flags().BoolVar(&flags.inferPreference, "infer-preference", false, "Use the preference in the image's labels")
	cmd.Flags().StringVar(&flags.Class, "class", "", "VirtualMachineClass to use instead of an instance type")
	cmd.Flags().Int32Var(&flags.CPU, "cpu", 0, "Number of vCPUs, if no instance type is used")
	cmd.Flags().StringVar(&flags.Memory, "memory", "", "Guest memory, with --cpu")
	cmd.Flags().StringVar(&flags.StorageClass, "storage-class", "", "Storage class")
	cmd.Flags().StringVar(&flags.Network, "network", "", "vSphere network of the interface eth0 (default: the server's)")
	cmd.Flags().StringVar(&flags.PowerState, "power-state", "", "PoweredOn, PoweredOff or Suspended (default: PoweredOn)")
	cmd.Flags().StringVar(&flags.cloudInitSecret, "cloud-init-secret", "", "Secret with the cloud-init user data under the key user-data")
	cli.CompleteFixed(cmd, "power-state", string(vmv1alpha1.PoweredOn), string(vmv1alpha1.PoweredOff), string(vmv1alpha1.Suspended))
	_ = cmd.MarkFlagRequired("name")
	_ = cmd.MarkFlagRequired("image")
	return cmd
}

// Object returns the virtual machine of the flags.
func (f *VMFlags) Object() (*vmv1alpha1.VirtualMachine, error) {
	image, err := cli.ImageRef(f.Image)
	if err != nil {
		return nil, err
	}
	vm := &vmv1alpha1.VirtualMachine{
		TypeMeta:   metav1.TypeMeta{APIVersion: vmv1alpha1.SchemeGroupVersion.String(), Kind: "VirtualMachine"},
		ObjectMeta: metav1.ObjectMeta{Name: f.Name},
		Spec: vmv1alpha1.VirtualMachineSpec{
			Image:        &image,
			StorageClass: f.StorageClass,
			PowerState:   vmv1alpha1.PowerState(f.PowerState),
		},
	}
	if err := f.setSize(&vm.Spec); err != nil {
		return nil, err
	}
	switch kind, name := cli.SplitKind(f.Preference); {
	case f.inferPreference && name != "":
		return nil, fmt.Errorf("--preference and --infer-preference are mutually exclusive")
	case f.inferPreference:
		vm.Spec.Preference = &vmv1alpha1.PreferenceMatcher{InferFromVolume: inferFromImage}
	case name != "":
		vm.Spec.Preference = &vmv1alpha1.PreferenceMatcher{Name: name, Kind: kind}
	}
	if f.Network != "" {
		vm.Spec.Network = &vmv1alpha1.VirtualMachineNetworkSpec{
			Interfaces: []vmv1alpha1.VirtualMachineNetworkInterface{{Name: "eth0", Network: f.Network}},
		}
	}
	if f.cloudInitSecret != "" {
		vm.Spec.Bootstrap = &vmv1alpha1.VirtualMachineBootstrap{CloudInit: &vmv1alpha1.CloudInitBootstrap{
			RawCloudConfig: &vmv1alpha1.SecretKeySelector{Name: f.cloudInitSecret, Key: "user-data"},
		}}
	}
	return vm, nil
}

// lookupTimeout limits the search for an image. Without an answer of the cluster the manifest is printed as it is.
const lookupTimeout = 3 * time.Second

// resolveImage sets the kind of ref if it has none and only a ClusterVirtualMachineImage has its name. It ignores errors,
// because a manifest can be printed without a cluster.
func resolveImage(ctx context.Context, f *cli.Factory, ref *vmv1alpha1.VirtualMachineImageRef) {
	if ref.Kind != "" {
		return
	}
	client, namespace, err := f.Client()
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	if _, err := client.VmV1alpha1().VirtualMachineImages(namespace).Get(ctx, ref.Name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		return
	}
	if _, err := client.VmV1alpha1().ClusterVirtualMachineImages().Get(ctx, ref.Name, metav1.GetOptions{}); err == nil {
		ref.Kind = vmv1alpha1.ClusterImageKind
	}
}

// inferFromImage is the volume name of the boot image in inferFromVolume.
const inferFromImage = "image"

// setSize sets the single source of the size.
func (f *VMFlags) setSize(spec *vmv1alpha1.VirtualMachineSpec) error {
	var given []string
	for flag, set := range map[string]bool{
		"--instancetype": f.Instancetype != "", "--infer-instancetype": f.inferInstancetype,
		"--class": f.Class != "", "--cpu with --memory": f.CPU != 0 || f.Memory != "",
	} {
		if set {
			given = append(given, flag)
		}
	}
	if len(given) != 1 {
		return fmt.Errorf("specify the size by exactly one of --instancetype, --infer-instancetype, --class, or --cpu with --memory; %d are set", len(given))
	}
	switch {
	case f.Instancetype != "":
		kind, name := cli.SplitKind(f.Instancetype)
		spec.Instancetype = &vmv1alpha1.InstancetypeMatcher{Name: name, Kind: kind}
	case f.inferInstancetype:
		spec.Instancetype = &vmv1alpha1.InstancetypeMatcher{InferFromVolume: inferFromImage}
	case f.Class != "":
		spec.ClassName = f.Class
	default:
		if f.CPU < 1 {
			return fmt.Errorf("--cpu %d must be at least 1", f.CPU)
		}
		if f.Memory == "" {
			return fmt.Errorf("--cpu %d requires --memory, such as --memory 4Gi", f.CPU)
		}
		memory, err := parseQuantity("memory", f.Memory)
		if err != nil {
			return err
		}
		spec.CPU = &vmv1alpha1.VirtualMachineCPU{Sockets: f.CPU}
		spec.Memory = &vmv1alpha1.VirtualMachineMemory{Guest: &memory}
		if errs := validation.ValidateMemory(spec.Memory, nil); len(errs) > 0 {
			return fmt.Errorf("--memory %s: %s", f.Memory, errs[0].Detail)
		}
	}
	return nil
}
