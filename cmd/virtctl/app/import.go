// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "sigs.k8s.io/json"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/instancetype/apply"
)

// kubeVirtGroup is the API group whose catalogues are imported.
const kubeVirtGroup = "instancetype.kubevirt.io"

func newImportCommand(f *Factory) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "import",
		Short: "Convert a KubeVirt catalogue of instance types and preferences",
		Long: "Convert the instance types and preferences of a KubeVirt catalogue and print their manifests on standard output.\n" +
			"Standard error says, for every object, which fields have no meaning on vSphere: they are kept, and not applied.",
		Example: fmt.Sprintf("  %s import -f common-instancetypes.yaml | kubectl apply -f -", f.program),
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			data, err := f.readFile(file)
			if err != nil {
				return err
			}
			return f.importCatalogue(data)
		},
	}
	cmd.Flags().StringVarP(&file, "filename", "f", "", "File with the catalogue, - for standard input (required)")
	_ = cmd.MarkFlagRequired("filename")
	return cmd
}

// readFile reads a file, or standard input for "-".
func (f *Factory) readFile(name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(f.streams.In)
	}
	return os.ReadFile(name)
}

func (f *Factory) importCatalogue(data []byte) error {
	objs, err := splitDocuments(data)
	if err != nil {
		return fmt.Errorf("reading the catalogue: %w", err)
	}
	var converted []runtime.Object
	for _, obj := range objs {
		if group := obj.GroupVersionKind().Group; group != kubeVirtGroup {
			fmt.Fprintf(f.streams.ErrOut, "%s/%s: skipped, apiVersion %q is not of group %s\n", obj.GetKind(), obj.GetName(), obj.GetAPIVersion(), kubeVirtGroup)
			continue
		}
		result, notes, err := convertCatalogueObject(obj)
		if err != nil {
			return fmt.Errorf("converting %s/%s: %w", obj.GetKind(), obj.GetName(), err)
		}
		converted = append(converted, result)
		if len(notes) == 0 {
			fmt.Fprintf(f.streams.ErrOut, "%s/%s: converted\n", obj.GetKind(), obj.GetName())
		}
		for _, note := range notes {
			fmt.Fprintf(f.streams.ErrOut, "%s/%s: %s\n", obj.GetKind(), obj.GetName(), note)
		}
	}
	if len(converted) == 0 {
		return fmt.Errorf("the catalogue has no object of group %s", kubeVirtGroup)
	}
	return printManifests(f.streams.Out, converted...)
}

// convertCatalogueObject returns the object of our group, and what there is to
// say about it.
func convertCatalogueObject(obj *unstructured.Unstructured) (runtime.Object, []string, error) {
	obj = obj.DeepCopy()
	obj.SetAPIVersion(itv1alpha1.SchemeGroupVersion.String())
	for _, field := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "ownerReferences"} {
		unstructured.RemoveNestedField(obj.Object, "metadata", field)
	}
	raw, err := json.Marshal(obj.Object)
	if err != nil {
		return nil, nil, err
	}
	var target runtime.Object
	var unmapped func() []string
	foreign := func() []string { return nil }
	switch obj.GetKind() {
	case "VirtualMachineInstancetype":
		o := &itv1alpha1.VirtualMachineInstancetype{}
		target, unmapped = o, func() []string { return apply.UnmappedInstancetype(&o.Spec) }
		foreign = func() []string { return apply.ForeignDevices(&o.Spec) }
	case "VirtualMachineClusterInstancetype":
		o := &itv1alpha1.VirtualMachineClusterInstancetype{}
		target, unmapped = o, func() []string { return apply.UnmappedInstancetype(&o.Spec) }
		foreign = func() []string { return apply.ForeignDevices(&o.Spec) }
	case "VirtualMachinePreference":
		o := &itv1alpha1.VirtualMachinePreference{}
		target, unmapped = o, func() []string { return apply.UnmappedPreference(&o.Spec) }
	case "VirtualMachineClusterPreference":
		o := &itv1alpha1.VirtualMachineClusterPreference{}
		target, unmapped = o, func() []string { return apply.UnmappedPreference(&o.Spec) }
	default:
		return nil, nil, fmt.Errorf("kind %q is not one of VirtualMachineInstancetype, VirtualMachineClusterInstancetype, VirtualMachinePreference, VirtualMachineClusterPreference", obj.GetKind())
	}
	strict, err := kjson.UnmarshalStrict(raw, target)
	if err != nil {
		return nil, nil, err
	}
	var notes []string
	for _, unknown := range strict {
		notes = append(notes, fmt.Sprintf("dropped: %v", unknown))
	}
	for _, field := range unmapped() {
		notes = append(notes, field+" has no meaning on vSphere: kept, not applied")
	}
	for _, device := range foreign() {
		notes = append(notes, device+" is no device of vSphere: kept, and to be replaced by a vGPU profile or vendor:device")
	}
	return target, notes, nil
}
