// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package instancetype_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/hardware"
	"github.com/slipway-dev/slipway/pkg/instancetype"
)

// For any stored objects there is either an effective spec with a valid topology or an error. Expanding does not change
// the hardware.
func FuzzEffectiveAndExpand(f *testing.F) {
	f.Add(`{}`, `{"cpu":{"guest":4},"memory":{"guest":"4Gi"}}`, `{}`)
	f.Add(`{"cpu":{"maxSockets":8},"volumes":[{"name":"a"}],"network":{"interfaces":[{"name":"x"}]}}`,
		`{"cpu":{"guest":6,"maxSockets":3,"dedicatedCPUPlacement":true},"memory":{"guest":"1G","overcommitPercent":7}}`,
		`{"cpu":{"preferredCPUTopology":"spread","spreadOptions":{"ratio":3}},"devices":{"preferredDiskBus":"sata"},"firmware":{"preferredEfi":{}}}`)
	f.Add(`{"cpu":{"sockets":2},"memory":{"guest":"1Gi"}}`, ``, `{"requirements":{"cpu":{"guest":2}}}`)
	f.Add(`{"firmware":{"secureBoot":true},"bootstrap":{"linuxPrep":{}}}`, `{"cpu":{"guest":-1},"memory":{"guest":"-1"}}`, `{"clock":{"preferredClockOffset":{"utc":{}}}}`)
	f.Fuzz(func(t *testing.T, vmJSON, sizeJSON, prefJSON string) {
		vm := &vmv1alpha1.VirtualMachine{}
		var size itv1alpha1.VirtualMachineInstancetypeSpec
		var preference itv1alpha1.VirtualMachinePreferenceSpec
		if json.Unmarshal([]byte(vmJSON), &vm.Spec) != nil || json.Unmarshal([]byte(prefJSON), &preference) != nil {
			return
		}
		vm.Spec.ClassName, vm.Spec.Instancetype = "", nil
		vm.Spec.Preference = &vmv1alpha1.PreferenceMatcher{Name: "p"}
		resolved := &instancetype.Resolved{Preference: &instancetype.ResolvedObject{Object: &instancetype.Object{Kind: clusterPref, Preference: &preference}}}
		if sizeJSON != "" {
			if json.Unmarshal([]byte(sizeJSON), &size) != nil {
				return
			}
			vm.Spec.Instancetype = &vmv1alpha1.InstancetypeMatcher{Name: "i"}
			resolved.Instancetype = &instancetype.ResolvedObject{Object: &instancetype.Object{Kind: clusterIT, Instancetype: &size}}
		}
		spec, err := instancetype.ComputeEffective(vm, resolved)
		if err != nil {
			return
		}
		if spec.CPU.Sockets < 1 || spec.CPU.Cores < 1 || spec.CPU.Threads < 1 || spec.Memory.Guest == nil {
			t.Fatalf("unusable size %+v, %+v", spec.CPU, spec.Memory)
		}
		if resolved.Instancetype != nil && spec.CPU.Sockets*spec.CPU.Cores*spec.CPU.Threads != size.CPU.Guest {
			t.Fatalf("%d vCPUs are arranged as %+v", size.CPU.Guest, spec.CPU)
		}
		expanded, err := instancetype.Expand(vm, resolved)
		if err != nil {
			t.Fatalf("expanding a VM with an effective spec: %v", err)
		}
		again, err := instancetype.ComputeEffective(expanded, &instancetype.Resolved{})
		if err != nil {
			t.Fatalf("the expanded virtual machine has no effective spec: %v", err)
		}
		for _, d := range hardware.Diff(spec, again) {
			switch d.Path {
			case "nodeSelector", "annotations", "terminationGracePeriodSeconds":
			default:
				t.Errorf("expanding changed %+v", d)
			}
		}
	})
}

// A revision with any content is decoded or rejected. A decoded object can be stored again with the same spec.
func FuzzDecodeRevision(f *testing.F) {
	f.Add([]byte(`{"apiVersion":"instancetype.slipway.dev/v1alpha1","kind":"VirtualMachineInstancetype","metadata":{"name":"a"},"spec":{"cpu":{"guest":1},"memory":{"guest":"1Gi"}}}`))
	f.Add([]byte(`{"apiVersion":"instancetype.kubevirt.io/v1beta1","kind":"VirtualMachineClusterPreference","metadata":{"name":"a"},"spec":{"cpu":{}}}`))
	f.Add([]byte(`{"apiVersion":"instancetype.kubevirt.io/v1alpha1","spec":"e30="}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		revision := &itv1alpha1.ControllerRevision{Data: runtime.RawExtension{Raw: raw}}
		for _, role := range []instancetype.Role{it, pref} {
			object, err := instancetype.Decode(revision).Object(role)
			if err != nil {
				continue
			}
			again, err := instancetype.NewRevision("", object)
			if err != nil {
				t.Fatalf("encoding the decoded object: %v", err)
			}
			decoded, err := instancetype.Decode(again).Object(role)
			if err != nil {
				t.Fatalf("decoding the encoded object: %v", err)
			}
			if diff := cmp.Diff(object.Instancetype, decoded.Instancetype, quantities); diff != "" {
				t.Errorf("instance type (-first +again):\n%s", diff)
			}
			if equal, err := instancetype.EqualRevisions(again, again); err != nil || !equal {
				t.Errorf("a revision differs from itself: %v", err)
			}
		}
	})
}
