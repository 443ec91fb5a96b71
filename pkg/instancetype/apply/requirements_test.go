// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/instancetype/apply"
)

func TestRequirements_Met(t *testing.T) {
	for _, tc := range []struct{ name, vm, size, pref string }{
		{"F106 vCPUs of the instance type", "{}", small, `{requirements: {cpu: {guest: 2}}}`},
		{"F106 memory of the instance type", "{}", small, `{requirements: {memory: {guest: 4Gi}}}`},
		{"F106 sockets of the VM", `{cpu: {sockets: 4}, memory: {guest: 1Gi}}`, "", `{requirements: {cpu: {guest: 4}}}`},
		{"F106 cores of the VM", `{cpu: {cores: 4}, memory: {guest: 1Gi}}`, "", `{cpu: {preferredCPUTopology: cores}, requirements: {cpu: {guest: 4}}}`},
		{"F106 threads of the VM", `{cpu: {threads: 4}, memory: {guest: 1Gi}}`, "", `{cpu: {preferredCPUTopology: threads}, requirements: {cpu: {guest: 4}}}`},
		{"F106 spread over sockets and cores", `{cpu: {sockets: 2, cores: 2}, memory: {guest: 1Gi}}`, "", `{cpu: {preferredCPUTopology: spread}, requirements: {cpu: {guest: 4}}}`},
		{"F106 spread over all", `{cpu: {sockets: 2, cores: 2, threads: 2}, memory: {guest: 1Gi}}`, "", `{cpu: {preferredCPUTopology: spread, spreadOptions: {across: SocketsCoresThreads}}, requirements: {cpu: {guest: 8}}}`},
		{"F106 spread over cores and threads", `{cpu: {cores: 2, threads: 2}, memory: {guest: 1Gi}}`, "", `{cpu: {preferredCPUTopology: spread, spreadOptions: {across: CoresThreads}}, requirements: {cpu: {guest: 4}}}`},
		{"F106 any", `{cpu: {sockets: 2, cores: 2}, memory: {guest: 1Gi}}`, "", `{cpu: {preferredCPUTopology: any}, requirements: {cpu: {guest: 4}}}`},
		{"F106 memory of the VM", `{cpu: {sockets: 1}, memory: {guest: 2Gi}}`, "", `{requirements: {memory: {guest: 2Gi}}}`},
		{"F106 one vCPU", `{cpu: {sockets: 1}, memory: {guest: 2Gi}}`, "", `{requirements: {cpu: {guest: 1}}}`},
		{"F109 architecture", "{}", small, `{requirements: {architecture: amd64}}`},
		{"F109 architecture of a VM with an inline size", `{cpu: {sockets: 1}, memory: {guest: 1Gi}}`, "", `{requirements: {architecture: amd64}}`},
		{"F109 no requirement", "{}", small, `{requirements: {}}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			mustEffective(t, tc.vm, tc.size, tc.pref)
		})
	}
}

// unmet is a combination that does not meet the requirements of the preference, with the expected problems.
type unmet struct {
	name, vm, size, pref string
	want                 []apply.Problem
}

func problem(field, message string) apply.Problem {
	return apply.Problem{Kind: apply.RequirementProblem, Field: field, Message: message}
}

func checkUnmet(t *testing.T, cases []unmet) {
	t.Helper()
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			_, err := effective(t, tc.vm, tc.size, tc.pref)
			var got *apply.Error
			if !errors.As(err, &got) {
				t.Fatalf("got error %v, want an *apply.Error", err)
			}
			if diff := cmp.Diff(tc.want, got.Problems); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestRequirements_NotMet(t *testing.T) {
	checkUnmet(t, []unmet{
		{
			"F107 all unmet requirements of an instance type", "{}", small, `{requirements: {cpu: {guest: 4}, memory: {guest: 8Gi}, architecture: s390x}}`,
			[]apply.Problem{
				problem("spec.instancetype", "insufficient CPU resources of 2 vCPU provided by instance type, preference requires 4 vCPU"),
				problem("spec.instancetype", "insufficient Memory resources of 4Gi provided by instance type, preference requires 8Gi"),
				problem("spec.preference", "preference requires architecture s390x but amd64 is being requested, the only architecture of vSphere guests: choose another preference"),
			},
		},
		{
			"F102 F109 the architecture is that of vSphere, whatever is preferred", "{}", small, `{preferredArchitecture: arm64, requirements: {architecture: arm64}}`,
			[]apply.Problem{problem("spec.preference", "preference requires architecture arm64 but amd64 is being requested, the only architecture of vSphere guests: choose another preference")},
		},
		{
			"F109 an architecture that vSphere does not have", `{cpu: {sockets: 1}, memory: {guest: 1Gi}}`, "", `{requirements: {architecture: s390x}}`,
			[]apply.Problem{problem("spec.preference", "preference requires architecture s390x but amd64 is being requested, the only architecture of vSphere guests: choose another preference")},
		},
		{
			"F107 vCPUs of the instance type", "{}", small, `{requirements: {cpu: {guest: 3}}}`,
			[]apply.Problem{problem("spec.instancetype", "insufficient CPU resources of 2 vCPU provided by instance type, preference requires 3 vCPU")},
		},
		{
			"F107 memory of the instance type", "{}", small, `{requirements: {memory: {guest: 4097Mi}}}`,
			[]apply.Problem{problem("spec.instancetype", "insufficient Memory resources of 4Gi provided by instance type, preference requires 4097Mi")},
		},
	})
}

func TestRequirements_UnmetByTheVM(t *testing.T) {
	checkUnmet(t, []unmet{
		{
			"F107 sockets", `{cpu: {sockets: 1}, memory: {guest: 1Gi}}`, "", `{requirements: {cpu: {guest: 2}}}`,
			[]apply.Problem{problem("spec.cpu.sockets", "insufficient CPU resources of 1 vCPU provided by VirtualMachine, preference requires 2 vCPU provided as sockets")},
		},
		{
			"F107 cores", `{cpu: {cores: 1}, memory: {guest: 1Gi}}`, "", `{cpu: {preferredCPUTopology: cores}, requirements: {cpu: {guest: 2}}}`,
			[]apply.Problem{problem("spec.cpu.cores", "insufficient CPU resources of 1 vCPU provided by VirtualMachine, preference requires 2 vCPU provided as cores")},
		},
		{
			"F107 threads", `{cpu: {threads: 1}, memory: {guest: 1Gi}}`, "", `{cpu: {preferredCPUTopology: threads}, requirements: {cpu: {guest: 2}}}`,
			[]apply.Problem{problem("spec.cpu.threads", "insufficient CPU resources of 1 vCPU provided by VirtualMachine, preference requires 2 vCPU provided as threads")},
		},
		{
			"F107 spread over sockets and cores", `{cpu: {sockets: 1, cores: 2}, memory: {guest: 1Gi}}`, "", `{cpu: {preferredCPUTopology: spread, spreadOptions: {across: SocketsCores}}, requirements: {cpu: {guest: 8}}}`,
			[]apply.Problem{problem("spec.cpu", "insufficient CPU resources of 2 vCPU provided by VirtualMachine, preference requires 8 vCPU provided as SocketsCores")},
		},
		{
			"F107 spread over sockets, cores and threads", `{cpu: {sockets: 1, cores: 2, threads: 2}, memory: {guest: 1Gi}}`, "", `{cpu: {preferredCPUTopology: spread, spreadOptions: {across: SocketsCoresThreads}}, requirements: {cpu: {guest: 8}}}`,
			[]apply.Problem{problem("spec.cpu", "insufficient CPU resources of 4 vCPU provided by VirtualMachine, preference requires 8 vCPU provided as SocketsCoresThreads")},
		},
		{
			"F107 spread over cores and threads", `{cpu: {cores: 1, threads: 2}, memory: {guest: 1Gi}}`, "", `{cpu: {preferredCPUTopology: spread, spreadOptions: {across: CoresThreads}}, requirements: {cpu: {guest: 8}}}`,
			[]apply.Problem{problem("spec.cpu", "insufficient CPU resources of 2 vCPU provided by VirtualMachine, preference requires 8 vCPU provided as CoresThreads")},
		},
		{
			"F107 sockets where cores are preferred", `{cpu: {sockets: 4}, memory: {guest: 1Gi}}`, "", `{cpu: {preferredCPUTopology: preferCores}, requirements: {cpu: {guest: 2}}}`,
			[]apply.Problem{problem("spec.cpu.cores", "insufficient CPU resources of 1 vCPU provided by VirtualMachine, preference requires 2 vCPU provided as cores")},
		},
		{
			"F107 threads where sockets and cores are preferred", `{cpu: {threads: 8}, memory: {guest: 1Gi}}`, "", `{cpu: {preferredCPUTopology: spread}, requirements: {cpu: {guest: 2}}}`,
			[]apply.Problem{problem("spec.cpu", "insufficient CPU resources of 1 vCPU provided by VirtualMachine, preference requires 2 vCPU provided as SocketsCores")},
		},
		{
			"F107 any", `{cpu: {sockets: 1, cores: 2}, memory: {guest: 1Gi}}`, "", `{cpu: {preferredCPUTopology: any}, requirements: {cpu: {guest: 4}}}`,
			[]apply.Problem{problem("spec.cpu", "insufficient CPU resources of 2 vCPU provided by VirtualMachine, preference requires 4 vCPU provided as cores, sockets and threads")},
		},
		{
			"F107 memory of the VM", `{cpu: {sockets: 1}, memory: {guest: 1Gi}}`, "", `{requirements: {memory: {guest: 2Gi}}}`,
			[]apply.Problem{problem("spec.memory.guest", "insufficient Memory resources of 1Gi provided by VirtualMachine, preference requires 2Gi")},
		},
	})
}

func TestEffective_RejectsAVMWithoutASize(t *testing.T) {
	for _, tc := range []struct {
		name, vm string
		want     []string
	}{
		{"F108 nothing", "{}", []string{"spec.cpu", "spec.memory.guest"}},
		{"F108 memory without guest", `{cpu: {sockets: 1}, memory: {}}`, []string{"spec.memory.guest"}},
		{"cpu without any dimension", `{cpu: {}, memory: {guest: 1Gi}}`, []string{"spec.cpu"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := effective(t, tc.vm, "", `{requirements: {memory: {guest: 1Gi}}}`)
			if diff := cmp.Diff(tc.want, fieldsOf(t, err)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestEffective_ClassAndInstancetypeGiveTheSameSize(t *testing.T) {
	class := &vmv1alpha1.VirtualMachineClass{Spec: *parse[vmv1alpha1.VirtualMachineClassSpec](t,
		`{cpu: {sockets: 2, cores: 2, reservation: 2G}, memory: {guest: 8Gi}, minHardwareVersion: 19, devices: {gpus: [{name: g, deviceName: x}], tpm: {}}}`)}
	class.Name = "gold"
	spec, err := apply.Effective(vmOf(t, `{className: gold, devices: {tpm: {enabled: false}}}`),
		apply.Inputs{Class: class, Preference: prefOf(t, `{requirements: {cpu: {guest: 4}}}`)})
	if err != nil {
		t.Fatal(err)
	}
	want := parse[vmv1alpha1.VirtualMachineInstanceSpec](t, `
className: gold
cpu: {sockets: 2, cores: 2, threads: 1, reservation: 2G}
memory: {guest: 8Gi, reservation: 8Gi}
minHardwareVersion: 19
devices: {gpus: [{name: g, deviceName: x}], tpm: {enabled: false}}
network: {interfaces: [{name: eth0, model: vmxnet3}]}`)
	if diff := cmp.Diff(want, spec, quantities); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	_, err = apply.Effective(vmOf(t, `{className: gold, cpu: {sockets: 1}, memory: {guest: 1Gi}, devices: {gpus: [{name: a, deviceName: b}]}}`), apply.Inputs{Class: class})
	if diff := cmp.Diff([]string{"spec.cpu", "spec.memory", "spec.devices.gpus"}, fieldsOf(t, err)); diff != "" {
		t.Errorf("conflicts with a class (-want +got):\n%s", diff)
	}
}

// All memory of a pinned VM is reserved, and vSphere rejects a limit below a reservation.
func TestEffective_ReportsALimitBelowFullyReservedMemory(t *testing.T) {
	const size, gpu = "cpu: {sockets: 1}, memory: {guest: 1Gi, limit: 4Mi}", "devices: {gpus: [{name: a, deviceName: grid_t4-8q}]}"
	class := &vmv1alpha1.VirtualMachineClass{Spec: *parse[vmv1alpha1.VirtualMachineClassSpec](t, "{"+size+"}")}
	for name, tc := range map[string]struct {
		vm    string
		class *vmv1alpha1.VirtualMachineClass
		want  []string
	}{
		"of a class":                    {"{" + gpu + "}", class, []string{"spec.className"}},
		"of the virtual machine":        {"{" + size + ", " + gpu + "}", nil, []string{"spec.memory.limit"}},
		"without pinning":               {"{" + size + "}", nil, nil},
		"a limit of exactly the memory": {"{cpu: {sockets: 1}, memory: {guest: 1Gi, limit: 1024Mi}, " + gpu + "}", nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := apply.Effective(vmOf(t, tc.vm), apply.Inputs{Class: tc.class})
			if len(tc.want) == 0 {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if diff := cmp.Diff(tc.want, fieldsOf(t, err)); diff != "" {
				t.Errorf("fields (-want +got):\n%s", diff)
			}
			if !strings.Contains(err.Error(), "memory.limit 4Mi of ") {
				t.Errorf("error %q does not include the value", err)
			}
		})
	}
}
