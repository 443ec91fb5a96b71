// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/test/integration/framework"
)

const (
	machinesPath     = "/apis/vm.slipway.dev/v1alpha1/namespaces/" + namespace + "/virtualmachines"
	classesPath      = "/apis/vm.slipway.dev/v1alpha1/namespaces/" + namespace + "/virtualmachineclasses"
	imagesPath       = "/apis/vm.slipway.dev/v1alpha1/namespaces/" + namespace + "/virtualmachineimages"
	instancetypePath = "/apis/instancetype.slipway.dev/v1alpha1/virtualmachineclusterinstancetypes"
	preferencePath   = "/apis/instancetype.slipway.dev/v1alpha1/virtualmachineclusterpreferences"
)

func manifest(kind, name, spec string) string {
	group := "vm.slipway.dev"
	if strings.Contains(kind, "Instancetype") || strings.Contains(kind, "Preference") {
		group = "instancetype.slipway.dev"
	}
	return fmt.Sprintf("apiVersion: %s/v1alpha1\nkind: %s\nmetadata: {name: %q}\nspec: %s\n", group, kind, name, spec)
}

func TestValidation_RejectsInvalidInputWithTheField(t *testing.T) {
	client := restClient(t, framework.StartStandalone(t).Config())
	const size = "cpu: {sockets: 1}, memory: {guest: 1Gi}"
	vm := func(spec string) string { return manifest("VirtualMachine", "v", "{"+spec+"}") }

	for name, tc := range map[string]struct {
		path, body, field string
	}{
		"no size":                           {machinesPath, vm(""), "spec"},
		"class and instance type":           {machinesPath, vm("className: c, instancetype: {name: i}"), "spec.instancetype"},
		"class and inline size":             {machinesPath, vm("className: c, " + size), "spec.cpu"},
		"instance type and sockets":         {machinesPath, vm("instancetype: {name: i}, cpu: {sockets: 2}"), "spec.cpu.sockets"},
		"CPU without memory":                {machinesPath, vm("cpu: {sockets: 1}"), "spec.memory"},
		"negative CPU":                      {machinesPath, vm("cpu: {sockets: -1}, memory: {guest: 1Gi}"), "spec.cpu.sockets"},
		"memory not a multiple of 4Mi":      {machinesPath, vm("cpu: {sockets: 1}, memory: {guest: 1Mi}"), "spec.memory.guest"},
		"negative memory":                   {machinesPath, vm("cpu: {sockets: 1}, memory: {guest: -1Gi}"), "spec.memory.guest"},
		"unknown power state":               {machinesPath, vm(size + ", powerState: Running"), "spec.powerState"},
		"unknown power off mode":            {machinesPath, vm(size + ", powerOffMode: Gentle"), "spec.powerOffMode"},
		"unknown update strategy":           {machinesPath, vm(size + ", updateStrategy: Never"), "spec.updateStrategy"},
		"bad restart time":                  {machinesPath, vm(size + ", nextRestartTime: tomorrow"), "spec.nextRestartTime"},
		"unknown image kind":                {machinesPath, vm(size + ", image: {kind: ISO, name: x}"), "spec.image.kind"},
		"image without a name":              {machinesPath, vm(size + ", image: {kind: VirtualMachineImage}"), "spec.image.name"},
		"unknown instance type kind":        {machinesPath, vm("instancetype: {name: i, kind: Deployment}"), "spec.instancetype.kind"},
		"instance type without name":        {machinesPath, vm("instancetype: {kind: VirtualMachineInstancetype}"), "spec.instancetype.name"},
		"interface named twice":             {machinesPath, vm(size + ", network: {interfaces: [{name: a}, {name: a}]}"), "spec.network.interfaces[1].name"},
		"bad MAC address":                   {machinesPath, vm(size + ", network: {interfaces: [{name: a, macAddress: xy}]}"), "spec.network.interfaces[0].macAddress"},
		"address without prefix":            {machinesPath, vm(size + ", network: {interfaces: [{name: a, addresses: [192.0.2.1]}]}"), "spec.network.interfaces[0].addresses[0]"},
		"volume without a source":           {machinesPath, vm(size + ", volumes: [{name: a}]"), "spec.volumes[0]"},
		"bad firmware UUID":                 {machinesPath, vm(size + ", firmware: {uuid: abc}"), "spec.firmware.uuid"},
		"secure boot with BIOS":             {machinesPath, vm(size + ", firmware: {bootloader: BIOS, secureBoot: true}"), "spec.firmware.secureBoot"},
		"two bootstrap providers":           {machinesPath, vm(size + ", bootstrap: {cloudInit: {}, linuxPrep: {}}"), "spec.bootstrap"},
		"hardware version too old":          {machinesPath, vm(size + ", minHardwareVersion: 3"), "spec.minHardwareVersion"},
		"probe port out of range":           {machinesPath, vm(size + ", readinessProbe: {tcpSocket: {port: 70000}}"), "spec.readinessProbe.tcpSocket.port"},
		"name too long for vSphere":         {machinesPath, manifest("VirtualMachine", strings.Repeat("n", 81), "{"+size+"}"), "metadata.name"},
		"name not a DNS subdomain":          {machinesPath, manifest("VirtualMachine", "a_b", "{"+size+"}"), "metadata.name"},
		"class without memory":              {classesPath, manifest("VirtualMachineClass", "c", "{cpu: {sockets: 1}}"), "spec.memory.guest"},
		"image without a source":            {imagesPath, manifest("VirtualMachineImage", "i", "{}"), "spec"},
		"image with two sources":            {imagesPath, manifest("VirtualMachineImage", "i", "{template: {inventoryPath: a}, contentLibrary: {library: l, item: i}}"), "spec"},
		"F112 instance type with no CPU":    {instancetypePath, manifest("VirtualMachineClusterInstancetype", "i", "{cpu: {guest: 0}, memory: {guest: 1Gi}}"), "spec.cpu.guest"},
		"F112 instance type with no memory": {instancetypePath, manifest("VirtualMachineClusterInstancetype", "i", "{cpu: {guest: 1}, memory: {guest: 0}}"), "spec.memory.guest"},
		"F114 overcommit and huge pages":    {instancetypePath, manifest("VirtualMachineClusterInstancetype", "i", "{cpu: {guest: 1}, memory: {guest: 1Gi, overcommitPercent: 10, hugepages: {pageSize: 2Mi}}}"), "spec.memory"},
		"F116 unknown preferred topology":   {preferencePath, manifest("VirtualMachineClusterPreference", "p", "{cpu: {preferredCPUTopology: circles}}"), "spec.cpu.preferredCPUTopology"},
	} {
		t.Run(name, func(t *testing.T) {
			err := postYAML(t, client, tc.path, tc.body)
			if !apierrors.IsInvalid(err) {
				t.Fatalf("answer %v, want 422 Invalid", err)
			}
			if fields := causes(err); !anyBelow(fields, tc.field) {
				t.Fatalf("the answer names %q, want %s: %v", fields, tc.field, err)
			}
		})
	}
}

func TestStrictValidation_RejectsAnUnknownField(t *testing.T) {
	client := restClient(t, framework.StartStandalone(t).Config())
	err := postYAML(t, client, machinesPath, manifest("VirtualMachine", "v", "{cpu: {sockets: 1, sokets: 2}, memory: {guest: 1Gi}}"))
	if !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), "spec.cpu.sokets") {
		t.Fatalf("answer %v, want 400 that names spec.cpu.sokets", err)
	}
}

// causes returns the fields in the causes of a rejection.
func causes(err error) []string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	var fields []string
	for _, cause := range status.Status().Details.Causes {
		if cause.Type != metav1.CauseType("") {
			fields = append(fields, cause.Field)
		}
	}
	return fields
}

// anyBelow reports whether one of fields is want or a part of it.
func anyBelow(fields []string, want string) bool {
	for _, f := range fields {
		if rest, ok := strings.CutPrefix(f, want); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			return true
		}
	}
	return false
}
