// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package instancetype_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/instancetype"
	"github.com/slipway-dev/slipway/pkg/instancetype/apply"
)

func expand(t *testing.T, vm *vmv1alpha1.VirtualMachine, w *fakeReader) (*vmv1alpha1.VirtualMachine, error) {
	t.Helper()
	resolved, err := resolve(vm, w)
	if err != nil {
		return nil, err
	}
	return instancetype.Expand(vm, resolved)
}

func TestExpand_KeepsTheEffectiveSpec(t *testing.T) {
	const catalogueSize = `{cpu: {guest: 4, maxSockets: 8}, memory: {guest: 8Gi, overcommitPercent: 50, maxGuest: 16Gi}, annotations: {a: b}, gpus: [{name: g, deviceName: d}]}`
	const cataloguePref = `{cpu: {preferredCPUTopology: spread}, devices: {preferredDiskBus: sata, preferredInterfaceModel: e1000, preferredTPM: {}}, firmware: {preferredEfi: {}}, volumes: {preferredStorageClassName: fast}, machine: {preferredMachineType: vmx-20}}`
	for _, tc := range []struct{ name, kind string }{
		{"F133 kind empty", ""},
		{"F133 singular", ", kind: VirtualMachineClusterInstancetype"},
		{"F133 plural", ", kind: virtualmachineclusterinstancetypes"},
		{"F133 namespaced", ", kind: VirtualMachineInstancetype"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newFakeReader()
			w.add(t, clusterIT, "small", "uid", 1, catalogueSize)
			w.add(t, instancetype.KindInstancetype, "small", "uid", 1, catalogueSize)
			w.add(t, clusterPref, "linux", "p", 1, cataloguePref)
			vm := vmOf(t, "{instancetype: {name: small"+tc.kind+"}, preference: {name: linux}, volumes: [{name: d, disk: {size: 1Gi}}]}")
			vm.Status.InstancetypeRef = &vmv1alpha1.InstancetypeRef{Name: "other", Kind: "x"}
			before, err := effectiveSpec(vm, w)
			if err != nil {
				t.Fatal(err)
			}
			out, err := expand(t, vm, w)
			if err != nil {
				t.Fatal(err)
			}
			if out.Spec.Instancetype != nil || out.Spec.Preference != nil || out.Status.InstancetypeRef != nil || out.Status.PreferenceRef != nil {
				t.Errorf("F132 references remain: %+v", out.Spec)
			}
			after, err := effectiveSpec(out, w)
			if err != nil {
				t.Fatalf("F132 the expanded VM has no effective spec: %v", err)
			}
			after.Annotations, before.Annotations = nil, nil // they are in metadata now
			before.Instancetype, before.Preference = nil, nil
			if diff := cmp.Diff(before, after, quantities); diff != "" {
				t.Errorf("F132 (-want +got):\n%s", diff)
			}
			if !cmp.Equal(out.Annotations, map[string]string{"a": "b"}) || vm.Annotations != nil {
				t.Errorf("annotations of the result %v, of the argument %v", out.Annotations, vm.Annotations)
			}
		})
	}
}

// The author of a namespaced instance type or preference may not be privileged, but the controller that writes the
// expanded VM is.
func TestExpand_OmitsAnnotationsOfPrivilegedUsers(t *testing.T) {
	const steers, remove, powerOn = vmv1alpha1.AnnotationSkipDelete, vmv1alpha1.CheckDeletePrefix + "x", vmv1alpha1.CheckPowerOnPrefix + "x"
	w := newFakeReader()
	w.add(t, instancetype.KindInstancetype, "small", "uid", 1, `{cpu: {guest: 1}, memory: {guest: 1Gi}, annotations: {a: b, `+steers+`: "", `+remove+`: ""}}`)
	w.add(t, instancetype.KindPreference, "linux", "p", 1, `{annotations: {c: d, `+powerOn+`: ""}}`)
	out, err := expand(t, vmOf(t, "{instancetype: {name: small, kind: VirtualMachineInstancetype}, preference: {name: linux, kind: VirtualMachinePreference}}"), w)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"a": "b", "c": "d"}, out.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
}

func TestExpand_HandlesOtherReferences(t *testing.T) {
	w := newFakeReader()
	w.add(t, clusterIT, "small", "uid", 1, size(2))
	plain := vmOf(t, "{cpu: {sockets: 1}, memory: {guest: 1Gi}}")
	if out, err := expand(t, plain, w); err != nil || !cmp.Equal(plain, out, quantities) {
		t.Errorf("F133 without references: %+v, %v; want it unchanged", out, err)
	}
	if _, err := expand(t, vmOf(t, "{instancetype: {name: gone}}"), w); !instancetype.IsMissing(err) {
		t.Errorf("F133 missing source: error %v, want NotFound", err)
	}
	var problems *apply.Error
	if _, err := expand(t, vmOf(t, "{instancetype: {name: small}, cpu: {cores: 2}}"), w); !errors.As(err, &problems) || !strings.Contains(err.Error(), "spec.cpu.cores") {
		t.Errorf("F133 conflict: error %v", err)
	}
	class := &vmv1alpha1.VirtualMachineClass{Spec: *parse[vmv1alpha1.VirtualMachineClassSpec](t, "{cpu: {sockets: 3}, memory: {guest: 1Gi}}")}
	class.Name = "gold"
	w.classes["default/gold"] = class
	w.add(t, clusterPref, "linux", "p", 1, "{}")
	if out, err := expand(t, vmOf(t, "{className: gold, preference: {name: linux}}"), w); err != nil || out.Spec.ClassName != "" || out.Spec.CPU.Sockets != 3 {
		t.Errorf("a class with a preference: %+v, %v", out, err)
	}
}

func TestResolveLatest_IgnoresTheRevisionInStatus(t *testing.T) {
	w, vm := outdated(t, size(4), "{}")
	stored, err := resolve(vm, w)
	if err != nil || stored.Instancetype.Object.Meta.Generation != 1 {
		t.Errorf("stored %+v, %v; want generation 1", stored.Instancetype, err)
	}
	latest, err := resolveLatest(vm, w)
	if err != nil || latest.Instancetype.Object.Meta.Generation != 2 || latest.Preference.Object.Meta.Generation != 2 {
		t.Errorf("latest %+v, %v; want generation 2", latest.Instancetype, err)
	}
}
