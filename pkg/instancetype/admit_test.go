// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package instancetype_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/pkg/instancetype"
)

// newAdmissionReader has instance types with 2, 3 and 4 vCPUs, and preferences with requirements.
func newAdmissionReader(t *testing.T) *fakeReader {
	t.Helper()
	w := newFakeReader()
	w.add(t, clusterIT, "two", "2", 1, size(2))
	w.add(t, clusterIT, "three", "3", 1, size(3))
	w.add(t, clusterIT, "four", "4", 1, size(4))
	w.add(t, clusterPref, "spread", "s", 1, "{cpu: {preferredCPUTopology: spread}}")
	w.add(t, clusterPref, "greedy", "g", 1, "{requirements: {cpu: {guest: 4}}}")
	return w
}

func TestAdmit_OnCreate(t *testing.T) {
	for _, tc := range []struct {
		name, vm string
		want     []string
	}{
		{"fine", "{instancetype: {name: two}, preference: {name: spread}}", nil},
		{"F120 vCPUs that cannot be spread", "{instancetype: {name: three}, preference: {name: spread}}", []string{"spec.instancetype"}},
		{"F120 spread without instance type", "{cpu: {sockets: 3}, memory: {guest: 1Gi}, preference: {name: spread}}", nil},
		{"F121 conflicts", "{instancetype: {name: two}, cpu: {reservation: 1G, limit: 2G}, memory: {reservation: 1Gi, limit: 1Gi}}",
			[]string{"spec.cpu.reservation", "spec.cpu.limit", "spec.memory.reservation", "spec.memory.limit"}},
		{"F107 requirements", "{instancetype: {name: two}, preference: {name: greedy}}", []string{"spec.instancetype"}},
		{"F56 missing sources are admitted", "{instancetype: {name: gone}, preference: {name: gone}, className: gone}", nil},
		{"F53 invalid kind", "{instancetype: {name: two, kind: Foo}}", []string{"spec.instancetype.kind"}},
		{"F122 neither name nor inferFromVolume", "{instancetype: {}}", []string{"spec.instancetype"}},
		{"F126 unknown volume", "{instancetype: {inferFromVolume: nope}}", []string{"spec.instancetype.inferFromVolume"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			errs, err := instancetype.Admit(t.Context(), vmOf(t, tc.vm), nil, newAdmissionReader(t))
			if err != nil {
				t.Fatal(err)
			}
			var fields []string
			for _, e := range errs {
				fields = append(fields, e.Field)
			}
			if diff := cmp.Diff(tc.want, fields); diff != "" {
				t.Errorf("fields (-want +got):\n%s\n%v", diff, errs)
			}
		})
	}
}

// The test has twenty numbers of vCPUs that are divisible by the ratio, and twenty that are not.
func TestAdmit_ChecksThatSpreadDivides(t *testing.T) {
	for _, tc := range []struct {
		spread          string
		refused, allows []int
	}{
		{"", []int{3, 5, 7, 9}, []int{1, 2, 4, 8}},
		{"across: SocketsCores, ratio: 3", []int{2, 4, 8, 10}, []int{1, 3, 6, 9}},
		{"across: SocketsCores, ratio: 4", []int{2, 6, 10}, []int{1, 4, 8, 16}},
		{"across: SocketsCoresThreads, ratio: 2", []int{2, 6, 9}, []int{4, 8, 12, 16}},
		{"across: SocketsCoresThreads, ratio: 3", []int{3, 9, 16}, []int{6, 12, 18, 24}},
		{"across: CoresThreads", []int{3, 5, 9}, []int{2, 4, 6, 8}},
	} {
		for _, vcpus := range append(tc.refused, tc.allows...) {
			t.Run(fmt.Sprintf("F120 %d vCPUs spread {%s}", vcpus, tc.spread), func(t *testing.T) {
				w := newFakeReader()
				w.add(t, clusterIT, "it", "i", 1, size(vcpus))
				w.add(t, clusterPref, "spread", "s", 1, "{cpu: {preferredCPUTopology: spread, spreadOptions: {"+tc.spread+"}}}")
				errs, err := instancetype.Admit(t.Context(), vmOf(t, "{instancetype: {name: it}, preference: {name: spread}}"), nil, w)
				if err != nil {
					t.Fatal(err)
				}
				if slices.Contains(tc.allows, vcpus) {
					if len(errs) != 0 {
						t.Errorf("errors %v, want none", errs)
					}
				} else if len(errs) != 1 || errs[0].Field != "spec.instancetype" || !strings.Contains(errs[0].Detail, fmt.Sprintf("%d vCPU", vcpus)) {
					t.Errorf("errors %v, want an error of spec.instancetype with the number of vCPUs", errs)
				}
			})
		}
	}
}

func TestAdmit_OnUpdate(t *testing.T) {
	for _, tc := range []struct {
		name, old, vm string
		refused       bool
	}{
		{"F110 switch to an instance type that is too small", "{instancetype: {name: four}, preference: {name: greedy}}", "{instancetype: {name: two}, preference: {name: greedy}}", true},
		{"F110 inline size that becomes too small", "{cpu: {sockets: 4}, memory: {guest: 1Gi}, preference: {name: greedy}}", "{cpu: {sockets: 2}, memory: {guest: 1Gi}, preference: {name: greedy}}", true},
		{"switch to an instance type that fits", "{instancetype: {name: two}, preference: {name: spread}}", "{instancetype: {name: four}, preference: {name: spread}}", false},
		{"F59 power off with an old problem", "{instancetype: {name: two}, preference: {name: greedy}, powerState: PoweredOn}", "{instancetype: {name: two}, preference: {name: greedy}, powerState: PoweredOff}", false},
		{"an old problem does not prevent another change", "{instancetype: {name: two}, preference: {name: greedy}}", "{instancetype: {name: two}, preference: {name: greedy}, guestID: x}", false},
		{"a new problem in addition to an old one", "{instancetype: {name: two}, preference: {name: greedy}}", "{instancetype: {name: two}, preference: {name: greedy}, cpu: {cores: 2}}", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			errs, err := instancetype.Admit(t.Context(), vmOf(t, tc.vm), vmOf(t, tc.old), newAdmissionReader(t))
			if err != nil || (len(errs) > 0) != tc.refused {
				t.Errorf("errors %v, %v; want refused %t", errs, err, tc.refused)
			}
		})
	}
	t.Run("F110 also when revisions were captured", func(t *testing.T) {
		w := newAdmissionReader(t)
		old := vmOf(t, "{instancetype: {name: four}, preference: {name: greedy}}")
		w.pin(t, old, w.add(t, clusterIT, "four", "4", 1, size(4)))
		vm := old.DeepCopy()
		vm.Spec.Instancetype.Name = "two"
		if errs, err := instancetype.Admit(t.Context(), vm, old, w); err != nil || len(errs) != 1 {
			t.Errorf("errors %v, %v; want the unmet requirement", errs, err)
		}
	})
	t.Run("F124 a VM that is being deleted", func(t *testing.T) {
		vm := vmOf(t, "{instancetype: {name: two}, cpu: {cores: 2}}")
		vm.DeletionTimestamp = &metav1.Time{}
		if errs, err := instancetype.Admit(t.Context(), vm, nil, newAdmissionReader(t)); err != nil || errs != nil {
			t.Errorf("errors %v, %v", errs, err)
		}
	})
	t.Run("a failed read is returned as an error", func(t *testing.T) {
		w := newAdmissionReader(t)
		w.broken = errors.New("timeout")
		if errs, err := instancetype.Admit(t.Context(), vmOf(t, "{instancetype: {name: two}}"), nil, w); !errors.Is(err, w.broken) || errs != nil {
			t.Errorf("errors %v, %v; want the failure", errs, err)
		}
	})
	t.Run("F59 power off needs no reads", func(t *testing.T) {
		w := newAdmissionReader(t)
		w.broken = errors.New("timeout")
		old, vm := vmOf(t, "{instancetype: {name: two}}"), vmOf(t, "{instancetype: {name: two}, powerState: PoweredOff, powerOffMode: Hard}")
		if errs, err := instancetype.Admit(t.Context(), vm, old, w); err != nil || errs != nil {
			t.Errorf("errors %v, %v", errs, err)
		}
	})
}
