// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apis_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/instancetype/validation"
)

// summaries reduces errors to type and field, in order.
func summaries(errs field.ErrorList) []string {
	var out []string
	for _, err := range errs {
		out = append(out, string(err.Type)+" "+err.Field)
	}
	return out
}

// validInstancetype returns a valid spec, to which change is applied.
func validInstancetype(change func(*itv1alpha1.VirtualMachineInstancetypeSpec)) *itv1alpha1.VirtualMachineInstancetypeSpec {
	spec := &itv1alpha1.VirtualMachineInstancetypeSpec{}
	spec.CPU.Guest = 2
	spec.Memory.Guest = resource.MustParse("4Gi")
	change(spec)
	return spec
}

func TestValidateInstancetypeSpec(t *testing.T) {
	type spec = itv1alpha1.VirtualMachineInstancetypeSpec
	for _, tc := range []struct {
		name   string
		change func(*spec)
		want   []string
	}{
		{"F112 a minimal spec is accepted", func(*spec) {}, nil},
		{"F112 without vCPUs is rejected", func(s *spec) { s.CPU.Guest = 0 }, []string{"FieldValueRequired spec.cpu.guest"}},
		{"negative vCPUs are rejected", func(s *spec) { s.CPU.Guest = -1 }, []string{"FieldValueInvalid spec.cpu.guest"}},
		{"more vCPUs than vSphere supports are rejected", func(s *spec) { s.CPU.Guest = 769 }, []string{"FieldValueInvalid spec.cpu.guest"}},
		{"a maximum of 0 sockets is rejected", func(s *spec) { s.CPU.MaxSockets = ptr.To[int32](0) }, []string{"FieldValueInvalid spec.cpu.maxSockets"}},
		{"a realtime mask is accepted", func(s *spec) { s.CPU.Realtime = &itv1alpha1.Realtime{Mask: "0-3,^1"} }, nil},
		{"a malformed realtime mask is rejected", func(s *spec) { s.CPU.Realtime = &itv1alpha1.Realtime{Mask: "all"} }, []string{"FieldValueInvalid spec.cpu.realtime.mask"}},
		{"F112 without memory is rejected", func(s *spec) { s.Memory.Guest = resource.Quantity{} }, []string{"FieldValueRequired spec.memory.guest"}},
		{"memory that is not a multiple of 4 MiB is accepted", func(s *spec) { s.Memory.Guest = resource.MustParse("1001Mi") }, nil},
		{"memory in decimal units is accepted", func(s *spec) {
			s.Memory.Guest, s.Memory.MaxGuest = resource.MustParse("2G"), ptr.To(resource.MustParse("3.5G"))
		}, nil},
		{"memory with a fraction is accepted", func(s *spec) { s.Memory.Guest = resource.MustParse("1.5Gi") }, nil},
		{"less memory than vSphere supports is rejected", func(s *spec) { s.Memory.Guest = resource.MustParse("3Mi") }, []string{"FieldValueInvalid spec.memory.guest"}},
		{"more memory than an int64 can hold is rejected", func(s *spec) { s.Memory.Guest = resource.MustParse("1e30") }, []string{"FieldValueInvalid spec.memory.guest"}},
		{"negative memory is rejected", func(s *spec) { s.Memory.Guest = resource.MustParse("-4Mi") }, []string{"FieldValueInvalid spec.memory.guest"}},
		{"a fraction of a byte is rejected", func(s *spec) { s.Memory.Guest = resource.MustParse("500m") }, []string{"FieldValueInvalid spec.memory.guest"}},
		{"maxGuest below guest is rejected", func(s *spec) { s.Memory.MaxGuest = ptr.To(resource.MustParse("2Gi")) }, []string{"FieldValueInvalid spec.memory.maxGuest"}},
		{"maxGuest equal to guest is accepted", func(s *spec) { s.Memory.MaxGuest = ptr.To(resource.MustParse("4Gi")) }, nil},
		{"F113 overcommit of 100 percent is accepted", func(s *spec) { s.Memory.OvercommitPercent = 100 }, nil},
		{"F113 overcommit above 100 percent is rejected", func(s *spec) { s.Memory.OvercommitPercent = 101 }, []string{"FieldValueInvalid spec.memory.overcommitPercent"}},
		{"F113 overcommit below 0 is rejected", func(s *spec) { s.Memory.OvercommitPercent = -1 }, []string{"FieldValueInvalid spec.memory.overcommitPercent"}},
		{"F114 overcommit together with large pages is rejected", func(s *spec) {
			s.Memory.OvercommitPercent, s.Memory.Hugepages = 15, &itv1alpha1.Hugepages{PageSize: "2Mi"}
		}, []string{"FieldValueForbidden spec.memory.overcommitPercent"}},
		{"a malformed page size is rejected", func(s *spec) { s.Memory.Hugepages = &itv1alpha1.Hugepages{PageSize: "big"} }, []string{"FieldValueInvalid spec.memory.hugepages.pageSize"}},
		{"two GPUs with the same name are rejected", func(s *spec) {
			s.GPUs = []itv1alpha1.GPU{{Name: "a", DeviceName: "x"}, {Name: "a", DeviceName: "y"}}
		}, []string{"FieldValueDuplicate spec.gpus[1].name"}},
		{"a GPU and a host device with the same name are accepted", func(s *spec) {
			s.GPUs = []itv1alpha1.GPU{{Name: "a", DeviceName: "x"}}
			s.HostDevices = []itv1alpha1.HostDevice{{Name: "a", DeviceName: "x"}}
		}, nil},
		{"a host device without names is rejected", func(s *spec) { s.HostDevices = make([]itv1alpha1.HostDevice, 1) }, []string{
			"FieldValueRequired spec.hostDevices[0].name", "FieldValueRequired spec.hostDevices[0].deviceName",
		}},
		{"a GPU by claim is accepted", func(s *spec) { s.GPUs = []itv1alpha1.GPU{{Name: "a", ClaimName: ptr.To("c")}} }, nil},
		{"an unknown thread policy is rejected", func(s *spec) { s.IOThreadsPolicy = ptr.To(itv1alpha1.IOThreadsPolicy("some")) }, []string{"FieldValueNotSupported spec.ioThreadsPolicy"}},
		{"an empty thread pool is rejected", func(s *spec) {
			s.IOThreads = &itv1alpha1.DiskIOThreads{SupplementalPoolThreadCount: ptr.To[int32](0)}
		}, []string{"FieldValueInvalid spec.ioThreads.supplementalPoolThreadCount"}},
		{"a malformed scheduler name is rejected", func(s *spec) { s.SchedulerName = "A B" }, []string{"FieldValueInvalid spec.schedulerName"}},
		{"two launch security technologies are rejected", func(s *spec) {
			s.LaunchSecurity = &itv1alpha1.LaunchSecurity{SEV: &itv1alpha1.SEV{}, TDX: &itv1alpha1.TDX{}}
		}, []string{"FieldValueInvalid spec.launchSecurity"}},
		{"a malformed node label is rejected", func(s *spec) { s.NodeSelector = map[string]string{"a b": "c"} }, []string{"FieldValueInvalid spec.nodeSelector"}},
		{"a malformed annotation is rejected", func(s *spec) { s.Annotations = map[string]string{"a b": "c"} }, []string{"FieldValueInvalid spec.annotations"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			errs := validation.ValidateInstancetypeSpec(validInstancetype(tc.change), field.NewPath("spec"))
			if diff := cmp.Diff(tc.want, summaries(errs)); diff != "" {
				t.Errorf("errors differ (-want +got):\n%s\n%v", diff, errs)
			}
		})
	}
}

func TestValidateInstancetypeAndPreference_ChecksScope(t *testing.T) {
	size := *validInstancetype(func(*itv1alpha1.VirtualMachineInstancetypeSpec) {})
	inNamespace := metav1.ObjectMeta{Name: "small", Namespace: "dev"}
	inCluster := metav1.ObjectMeta{Name: "small"}
	for _, tc := range []struct {
		name string
		got  field.ErrorList
		want []string
	}{
		{"instance type with a namespace", validation.ValidateInstancetype(&itv1alpha1.VirtualMachineInstancetype{ObjectMeta: inNamespace, Spec: size}), nil},
		{"instance type without a namespace", validation.ValidateInstancetype(&itv1alpha1.VirtualMachineInstancetype{ObjectMeta: inCluster, Spec: size}), []string{"FieldValueRequired metadata.namespace"}},
		{"cluster instance type", validation.ValidateClusterInstancetype(&itv1alpha1.VirtualMachineClusterInstancetype{ObjectMeta: inCluster, Spec: size}), nil},
		{"cluster instance type with a namespace", validation.ValidateClusterInstancetype(&itv1alpha1.VirtualMachineClusterInstancetype{ObjectMeta: inNamespace, Spec: size}), []string{"FieldValueForbidden metadata.namespace"}},
		{"empty preference", validation.ValidatePreference(&itv1alpha1.VirtualMachinePreference{ObjectMeta: inNamespace}), nil},
		{"empty cluster preference", validation.ValidateClusterPreference(&itv1alpha1.VirtualMachineClusterPreference{ObjectMeta: inCluster}), nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, summaries(tc.got)); diff != "" {
				t.Errorf("errors differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestValidateInstancetypeUpdate_AllowsSpecChanges(t *testing.T) {
	old := &itv1alpha1.VirtualMachineInstancetype{
		ObjectMeta: metav1.ObjectMeta{Name: "small", Namespace: "dev", ResourceVersion: "1"},
		Spec:       *validInstancetype(func(*itv1alpha1.VirtualMachineInstancetypeSpec) {}),
	}
	bigger := old.DeepCopy()
	bigger.Spec.CPU.Guest = 8
	if errs := validation.ValidateInstancetypeUpdate(bigger, old); len(errs) != 0 {
		t.Errorf("a change of the size is rejected: %v", errs)
	}
	renamed := old.DeepCopy()
	renamed.Name = "large"
	want := []string{"FieldValueInvalid metadata.name"}
	if diff := cmp.Diff(want, summaries(validation.ValidateInstancetypeUpdate(renamed, old))); diff != "" {
		t.Errorf("errors of a change of name differ (-want +got):\n%s", diff)
	}
}
