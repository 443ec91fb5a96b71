// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// newZone returns a valid Zone, to which change is applied.
func newZone(change func(*vmv1alpha1.Zone)) *vmv1alpha1.Zone {
	obj := &vmv1alpha1.Zone{
		ObjectMeta: metav1.ObjectMeta{Name: "a", ResourceVersion: "1"},
		Spec: vmv1alpha1.ZoneSpec{
			VCenter: "one", Datacenter: "DC0", Cluster: "C0", Folder: "slipway", DefaultNetwork: "prod",
			Networks: []vmv1alpha1.ZoneNetwork{{Name: "prod", Network: "VLAN 17"}},
			Storage:  vmv1alpha1.ZoneStorage{Datastores: []string{"vsan"}},
		},
	}
	change(obj)
	return obj
}

func TestValidateZone(t *testing.T) {
	wrong := &metav1.LabelSelector{MatchLabels: map[string]string{"a b": "c"}}
	for name, tc := range map[string]struct {
		change func(*vmv1alpha1.ZoneSpec)
		want   []string
	}{
		"as it should be":        {func(*vmv1alpha1.ZoneSpec) {}, nil},
		"of the VCenter default": {func(z *vmv1alpha1.ZoneSpec) { z.VCenter = "" }, nil},
		"of pools":               {func(z *vmv1alpha1.ZoneSpec) { z.Cluster, z.ResourcePools = "", []string{"a", "b"} }, nil},
		"of a policy":            {func(z *vmv1alpha1.ZoneSpec) { z.Storage = vmv1alpha1.ZoneStorage{Policy: "gold"} }, nil},
		"for some namespaces":    {func(z *vmv1alpha1.ZoneSpec) { z.NamespaceSelector = &metav1.LabelSelector{} }, nil},
		"empty":                  {func(z *vmv1alpha1.ZoneSpec) { *z = vmv1alpha1.ZoneSpec{} }, []string{"Required spec.folder", "Required spec", "Required spec.storage"}},
		"a cluster and pools":    {func(z *vmv1alpha1.ZoneSpec) { z.ResourcePools = []string{"a"} }, []string{"Invalid spec"}},
		"an invalid VCenter":     {func(z *vmv1alpha1.ZoneSpec) { z.VCenter = "A" }, []string{"Invalid spec.vCenter"}},
		"a duplicate pool":       {func(z *vmv1alpha1.ZoneSpec) { z.Cluster, z.ResourcePools = "", []string{"a", "a"} }, []string{"Duplicate spec.resourcePools[1]"}},
		"an empty pool name":     {func(z *vmv1alpha1.ZoneSpec) { z.Cluster, z.ResourcePools = "", []string{""} }, []string{"Required spec.resourcePools[0]"}},
		"with all networks": {func(z *vmv1alpha1.ZoneSpec) {
			z.Networks = append(z.Networks, vmv1alpha1.ZoneNetwork{Name: "*", Network: "a"})
		}, []string{"Invalid spec.networks[1].name"}},
		"a network without a vSphere network": {func(z *vmv1alpha1.ZoneSpec) { z.Networks[0].Network = "" }, []string{"Required spec.networks[0].network"}},
		"with a network twice":                {func(z *vmv1alpha1.ZoneSpec) { z.Networks = append(z.Networks, z.Networks[0]) }, []string{"Duplicate spec.networks[1].name"}},
		"with an unknown default":             {func(z *vmv1alpha1.ZoneSpec) { z.DefaultNetwork = "VLAN 17" }, []string{"Invalid spec.defaultNetwork"}},
		"with all devices":                    {func(z *vmv1alpha1.ZoneSpec) { z.Devices = []vmv1alpha1.ZoneDevice{{DeviceName: "*"}} }, []string{"Invalid spec.devices[0].deviceName"}},
		"with a datastore twice":              {func(z *vmv1alpha1.ZoneSpec) { z.Storage.Datastores = []string{"a", "a"} }, []string{"Duplicate spec.storage.datastores[1]"}},
		"with a bad class": {func(z *vmv1alpha1.ZoneSpec) {
			z.Storage.Classes = []vmv1alpha1.ZoneStorageClass{{Name: "Gold", Datastores: []string{""}}}
		}, []string{"Invalid spec.storage.classes[0].name", "Required spec.storage.classes[0].datastores[0]"}},
		"with bad selectors": {func(z *vmv1alpha1.ZoneSpec) {
			z.NamespaceSelector, z.Networks[0].NamespaceSelector = wrong, wrong
			z.Devices = []vmv1alpha1.ZoneDevice{{DeviceName: "10de:1eb8", NamespaceSelector: wrong}}
		}, []string{
			"Invalid spec.networks[0].namespaceSelector.matchLabels", "Invalid spec.devices[0].namespaceSelector.matchLabels",
			"Invalid spec.namespaceSelector.matchLabels",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			check(t, tc.want, ValidateZone(newZone(func(z *vmv1alpha1.Zone) { tc.change(&z.Spec) })))
		})
	}
	check(t, []string{"Invalid metadata.name"}, ValidateZone(newZone(func(z *vmv1alpha1.Zone) { z.Name = strings.Repeat("a", 64) })))
	check(t, []string{"Forbidden metadata.namespace"}, ValidateZone(newZone(func(z *vmv1alpha1.Zone) { z.Namespace = "dev" })))
}

func TestValidateZoneUpdate(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*vmv1alpha1.ZoneSpec)
		want   []string
	}{
		"more storage":       {func(z *vmv1alpha1.ZoneSpec) { z.Storage.Datastores = []string{"vsan", "nfs"} }, nil},
		"another cluster":    {func(z *vmv1alpha1.ZoneSpec) { z.Cluster = "C1" }, nil},
		"another VCenter":    {func(z *vmv1alpha1.ZoneSpec) { z.VCenter = "" }, []string{"Invalid spec.vCenter"}},
		"another datacenter": {func(z *vmv1alpha1.ZoneSpec) { z.Datacenter = "DC1" }, []string{"Invalid spec.datacenter"}},
		"another folder":     {func(z *vmv1alpha1.ZoneSpec) { z.Folder = "other" }, []string{"Invalid spec.folder"}},
	} {
		t.Run(name, func(t *testing.T) {
			old := newZone(func(*vmv1alpha1.Zone) {})
			check(t, tc.want, ValidateZoneUpdate(newZone(func(z *vmv1alpha1.Zone) { tc.change(&z.Spec) }), old))
		})
	}
	old := newZone(func(z *vmv1alpha1.Zone) { z.Spec.Cluster = "" })
	check(t, nil, ValidateZoneUpdate(old.DeepCopy(), old))
}

func TestValidateVirtualMachineUpdate_RejectsAnotherZone(t *testing.T) {
	for name, tc := range map[string]struct {
		asked, in, asks string
		want            []string
	}{
		"no zone yet":                            {asks: "a"},
		"requests another zone before placement": {asked: "a", asks: "b"},
		"requests its current zone":              {in: "a", asks: "a"},
		"requests another zone":                  {in: "a", asks: "b", want: []string{"Invalid spec.zone"}},
		"no longer requests a zone":              {asked: "a", in: "a", want: []string{"Invalid spec.zone"}},
		"still requests another zone":            {asked: "b", in: "a", asks: "b"},
	} {
		t.Run(name, func(t *testing.T) {
			old := &vmv1alpha1.VirtualMachine{Spec: vmv1alpha1.VirtualMachineSpec{Zone: tc.asked}, Status: vmv1alpha1.VirtualMachineStatus{Zone: tc.in}}
			obj := old.DeepCopy()
			obj.Spec.Zone = tc.asks
			check(t, tc.want, validateZoneUnchanged(obj, old))
		})
	}
}
