// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/instancetype/apply"
)

// quantities compares quantities by value.
var quantities = cmp.Comparer(func(a, b resource.Quantity) bool { return a.Cmp(b) == 0 })

func parse[T any](t testing.TB, manifest string) *T {
	t.Helper()
	out := new(T)
	if err := yaml.UnmarshalStrict([]byte(manifest), out); err != nil {
		t.Fatalf("parsing %q: %v", manifest, err)
	}
	return out
}

func vmOf(t testing.TB, spec string) *vmv1alpha1.VirtualMachine {
	t.Helper()
	vm := &vmv1alpha1.VirtualMachine{Spec: *parse[vmv1alpha1.VirtualMachineSpec](t, spec)}
	vm.Name, vm.Namespace, vm.UID = "vm", "default", "vm-uid"
	return vm
}

func sizeOf(t testing.TB, spec string) *itv1alpha1.VirtualMachineInstancetypeSpec {
	t.Helper()
	return parse[itv1alpha1.VirtualMachineInstancetypeSpec](t, spec)
}

func prefOf(t testing.TB, spec string) *itv1alpha1.VirtualMachinePreferenceSpec {
	t.Helper()
	return parse[itv1alpha1.VirtualMachinePreferenceSpec](t, spec)
}

// effective applies the three manifests. An empty manifest is omitted.
func effective(t testing.TB, vm, size, pref string) (*vmv1alpha1.VirtualMachineInstanceSpec, error) {
	t.Helper()
	in := apply.Inputs{}
	if size != "" {
		in.Instancetype = sizeOf(t, size)
	}
	if pref != "" {
		in.Preference = prefOf(t, pref)
	}
	return apply.Effective(vmOf(t, vm), in)
}

func mustEffective(t testing.TB, vm, size, pref string) *vmv1alpha1.VirtualMachineInstanceSpec {
	t.Helper()
	spec, err := effective(t, vm, size, pref)
	if err != nil {
		t.Fatalf("Effective: %v", err)
	}
	return spec
}

// fieldsOf returns the paths of the problems in err.
func fieldsOf(t testing.TB, err error) []string {
	t.Helper()
	var problems *apply.Error
	if !errors.As(err, &problems) {
		t.Fatalf("got error %v, want an *apply.Error", err)
	}
	var fields []string
	for _, p := range problems.Problems {
		fields = append(fields, p.Field)
	}
	return fields
}

const small = `{cpu: {guest: 2}, memory: {guest: 4Gi}}`
