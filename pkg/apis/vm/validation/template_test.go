// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

func TestValidateVirtualMachineTemplate_RejectsUniqueValues(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*vmv1alpha1.VirtualMachineTemplateResource)
		want   []string
	}{
		"valid":            {func(*vmv1alpha1.VirtualMachineTemplateResource) {}, nil},
		"no size":          {func(r *vmv1alpha1.VirtualMachineTemplateResource) { r.Spec.ClassName = "" }, []string{"FieldValueRequired spec.template.spec"}},
		"an invalid label": {func(r *vmv1alpha1.VirtualMachineTemplateResource) { r.Metadata.Labels = map[string]string{"a b": ""} }, []string{"FieldValueInvalid spec.template.metadata.labels"}},
		"an annotation": {func(r *vmv1alpha1.VirtualMachineTemplateResource) {
			r.Metadata.Annotations = map[string]string{"a b": ""}
		}, []string{"FieldValueInvalid spec.template.metadata.annotations"}},
		"identifiers in vSphere": {func(r *vmv1alpha1.VirtualMachineTemplateResource) {
			const uuid = "420f3c1a-6f5b-4b8e-9d1c-2f6a7e8b9c0d"
			r.Spec.InstanceUUID, r.Spec.ProviderID, r.Spec.Firmware = uuid, "vsphere://"+uuid, &vmv1alpha1.VirtualMachineFirmware{UUID: uuid}
			r.Spec.CurrentSnapshotName = "s"
		}, []string{"FieldValueForbidden spec.template.spec.instanceUUID", "FieldValueForbidden spec.template.spec.providerID",
			"FieldValueForbidden spec.template.spec.firmware.uuid", "FieldValueForbidden spec.template.spec.currentSnapshotName"}},
		"identifiers in the network": {func(r *vmv1alpha1.VirtualMachineTemplateResource) {
			r.Spec.Network = &vmv1alpha1.VirtualMachineNetworkSpec{HostName: "node", Interfaces: []vmv1alpha1.VirtualMachineNetworkInterface{
				{Name: "eth0", MACAddress: "00:50:56:00:00:01"}, {Name: "eth1", Addresses: []string{"10.0.0.5/24"}}, {Name: "eth2", Network: "lan"},
			}}
		}, []string{"FieldValueForbidden spec.template.spec.network.hostName", "FieldValueForbidden spec.template.spec.network.interfaces[0].macAddress",
			"FieldValueForbidden spec.template.spec.network.interfaces[1].addresses"}},
	} {
		t.Run(name, func(t *testing.T) {
			o := &vmv1alpha1.VirtualMachineTemplate{ObjectMeta: metav1.ObjectMeta{Name: "workers", Namespace: "n"}}
			o.Spec.Template.Spec.ClassName = "small"
			test.change(&o.Spec.Template)
			var got []string
			for _, err := range ValidateVirtualMachineTemplate(o) {
				got = append(got, string(err.Type)+" "+err.Field)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestValidateVirtualMachineTemplateUpdate_RejectsSpecChanges(t *testing.T) {
	old := &vmv1alpha1.VirtualMachineTemplate{ObjectMeta: metav1.ObjectMeta{Name: "workers", Namespace: "n", ResourceVersion: "1"}}
	old.Spec.Template.Spec.ClassName = "small"
	changed := old.DeepCopy()
	changed.Spec.Template.Metadata.Labels = map[string]string{"a": "b"}
	if errs := ValidateVirtualMachineTemplateUpdate(changed, old); len(errs) != 1 || errs[0].Field != "spec" || !strings.Contains(errs[0].Detail, "is immutable") {
		t.Errorf("errors of a spec change are %v", errs)
	}
	labelled := old.DeepCopy()
	labelled.Labels = map[string]string{"a": "b"}
	if errs := ValidateVirtualMachineTemplateUpdate(labelled, old); len(errs) > 0 {
		t.Errorf("a label is rejected: %v", errs)
	}
}

func TestValidateSlipwayCluster(t *testing.T) {
	for name, test := range map[string]struct {
		spec vmv1alpha1.SlipwayClusterSpec
		want []string
	}{
		"empty":            {vmv1alpha1.SlipwayClusterSpec{}, nil},
		"an address":       {vmv1alpha1.SlipwayClusterSpec{ControlPlaneEndpoint: vmv1alpha1.APIEndpoint{Host: "10.0.0.1", Port: 6443}, Zones: []string{"a", "b"}}, nil},
		"a name":           {vmv1alpha1.SlipwayClusterSpec{ControlPlaneEndpoint: vmv1alpha1.APIEndpoint{Host: "API.example.com.", Port: 443}}, nil},
		"a URL":            {vmv1alpha1.SlipwayClusterSpec{ControlPlaneEndpoint: vmv1alpha1.APIEndpoint{Host: "https://a", Port: 443}}, []string{"FieldValueInvalid spec.controlPlaneEndpoint.host"}},
		"an invalid port":  {vmv1alpha1.SlipwayClusterSpec{ControlPlaneEndpoint: vmv1alpha1.APIEndpoint{Host: "a", Port: 65536}}, []string{"FieldValueInvalid spec.controlPlaneEndpoint.port"}},
		"a duplicate zone": {vmv1alpha1.SlipwayClusterSpec{Zones: []string{"a", "a"}}, []string{"FieldValueDuplicate spec.zones[1]"}},
		"invalid zones":    {vmv1alpha1.SlipwayClusterSpec{Zones: []string{"", "a b"}}, []string{"FieldValueRequired spec.zones[0]", "FieldValueInvalid spec.zones[1]"}},
	} {
		o := &vmv1alpha1.SlipwayCluster{ObjectMeta: metav1.ObjectMeta{Name: "shop", Namespace: "n", ResourceVersion: "1"}, Spec: test.spec}
		old := &vmv1alpha1.SlipwayCluster{ObjectMeta: o.ObjectMeta}
		var created, updated []string
		for _, err := range ValidateSlipwayCluster(o) {
			created = append(created, string(err.Type)+" "+err.Field)
		}
		for _, err := range ValidateSlipwayClusterUpdate(o, old) {
			updated = append(updated, string(err.Type)+" "+err.Field)
		}
		if diff := cmp.Diff([][]string{test.want, test.want}, [][]string{created, updated}); diff != "" {
			t.Errorf("%s: errors of a new object and of a change (-want +got):\n%s", name, diff)
		}
		if errs := ValidateSlipwayClusterUpdate(o, o); len(errs) > 0 {
			t.Errorf("%s: an unchanged spec is rejected: %v", name, errs)
		}
	}
}
