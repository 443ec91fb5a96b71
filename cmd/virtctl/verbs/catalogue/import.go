// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package catalogue

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	"github.com/slipway-dev/slipway/cmd/virtctl/cli"
	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/instancetype/validation"
	"github.com/slipway-dev/slipway/pkg/apis/scheme"
)

// kubeVirtGroup is the API group whose catalogues are imported.
const kubeVirtGroup = "instancetype.kubevirt.io"

// NewCommand returns the command.
func NewCommand(factory *cli.Factory) *cobra.Command {
	f := command{factory}
	var file string
	cmd := &cobra.Command{
		Use:   "import",
		Short: "Convert a KubeVirt catalogue of instance types and preferences",
		Long: "Convert the instance types and preferences of a KubeVirt catalogue and print their manifests on standard output.\n" +
			"Fields that have no effect on vSphere are kept; they are listed for each object on standard error.\n" +
			"Objects that the server would reject are skipped with the reason, and the command fails.",
		Example: fmt.Sprintf("  %s import -f common-instancetypes.yaml | kubectl apply -f -", f.Program),
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			data, err := f.ReadFile(file)
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

// importCatalogue prints the objects of a catalogue that the server accepts. It skips objects that the server would
// reject, and returns an error at the end.
func (f command) importCatalogue(data []byte) error {
	objs, err := cli.SplitDocuments(data)
	if err != nil {
		return fmt.Errorf("reading the catalogue: %w", err)
	}
	var converted []runtime.Object
	refused := 0
	for _, obj := range objs {
		say := func(format string, args ...any) {
			fmt.Fprintf(f.Streams.ErrOut, "%s/%s: %s\n", obj.GetKind(), obj.GetName(), fmt.Sprintf(format, args...))
		}
		if group := obj.GroupVersionKind().Group; group != kubeVirtGroup {
			say("skipped, apiVersion %q is not of group %s", obj.GetAPIVersion(), kubeVirtGroup)
			continue
		}
		result, notes, errs, err := convertCatalogueObject(obj)
		if err != nil {
			return fmt.Errorf("converting %s/%s: %w", obj.GetKind(), obj.GetName(), err)
		}
		for _, note := range notes {
			say("%s", note)
		}
		for _, e := range errs {
			say("skipped, the server would reject it: %s", e)
		}
		switch {
		case len(errs) > 0:
			refused++
			continue
		case len(notes) == 0:
			say("converted")
		}
		converted = append(converted, result)
	}
	if len(converted) == 0 && refused == 0 {
		return fmt.Errorf("the catalogue contains no object of group %s", kubeVirtGroup)
	}
	if err := cli.PrintManifests(f.Streams.Out, converted...); err != nil {
		return err
	}
	if refused > 0 {
		return fmt.Errorf("%d of %d objects were skipped because the server would reject them", refused, refused+len(converted))
	}
	return nil
}

// convertCatalogueObject returns the converted object, notes about fields that are dropped or have no effect, and
// the reasons why the server would reject it.
func convertCatalogueObject(obj *unstructured.Unstructured) (runtime.Object, []string, field.ErrorList, error) {
	obj = obj.DeepCopy()
	obj.SetAPIVersion(itv1alpha1.SchemeGroupVersion.String())
	for _, name := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "ownerReferences"} {
		unstructured.RemoveNestedField(obj.Object, "metadata", name)
	}
	raw, err := json.Marshal(obj.Object)
	if err != nil {
		return nil, nil, nil, err
	}
	if !slices.Contains(catalogueKinds, obj.GetKind()) {
		return nil, nil, nil, fmt.Errorf("kind %q is not one of %s", obj.GetKind(), strings.Join(catalogueKinds, ", "))
	}
	target, err := scheme.Scheme.New(itv1alpha1.SchemeGroupVersion.WithKind(obj.GetKind()))
	if err != nil {
		return nil, nil, nil, err
	}
	strict, err := kjson.UnmarshalStrict(raw, target)
	if err != nil {
		return nil, nil, nil, err
	}
	warnings, errs := judge(target)
	notes := make([]string, 0, len(strict)+len(warnings))
	for _, unknown := range strict {
		notes = append(notes, fmt.Sprintf("dropped: %v", unknown))
	}
	return target, append(notes, warnings...), errs, nil
}

// catalogueKinds are the supported kinds, with KubeVirt's alternative spellings.
var catalogueKinds = []string{
	"VirtualMachineInstancetype", "VirtualMachineClusterInstancetype", "VirtualMachinePreference", "VirtualMachineClusterPreference",
}

// judge validates a spec as the server does.
func judge(obj runtime.Object) ([]string, field.ErrorList) {
	path := field.NewPath("spec")
	switch o := obj.(type) {
	case *itv1alpha1.VirtualMachineInstancetype:
		return validation.InstancetypeWarnings(&o.Spec, path), validation.ValidateInstancetypeSpec(&o.Spec, path)
	case *itv1alpha1.VirtualMachineClusterInstancetype:
		return validation.InstancetypeWarnings(&o.Spec, path), validation.ValidateInstancetypeSpec(&o.Spec, path)
	case *itv1alpha1.VirtualMachinePreference:
		return validation.PreferenceWarnings(&o.Spec, path), validation.ValidatePreferenceSpec(&o.Spec, path)
	case *itv1alpha1.VirtualMachineClusterPreference:
		return validation.PreferenceWarnings(&o.Spec, path), validation.ValidatePreferenceSpec(&o.Spec, path)
	}
	return nil, nil
}
