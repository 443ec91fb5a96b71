// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"context"
	"fmt"
	"os"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// zonesEach is the number of clusters, and zones, of a vCenter.
const zonesEach = 2

// zoneNames are the names of zones, in their order. The first replaces the zone of the flags.
var zoneNames = []string{vmv1alpha1.DefaultZone, "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth"}

// vcenterName returns the name of the VCenter with a number, from 1. The flags define the first one, unless
// Options.VCenterObjects is set.
func vcenterName(n int) string {
	if n == 1 {
		return vmv1alpha1.DefaultVCenter
	}
	return fmt.Sprintf("vcenter-%d", n)
}

// zones returns the zones of the vCenters. Without Options.Zones the first vCenter has the zone that the flags define,
// which has no object.
func (o *Options) zones() []*vmv1alpha1.Zone {
	var all []*vmv1alpha1.Zone
	for n := 1; n <= o.VCenters; n++ {
		if n == 1 && !o.Zones {
			continue
		}
		for cluster := range zonesEach {
			all = append(all, zone(zoneNames[(n-1)*zonesEach+cluster], vcenterName(n), cluster))
		}
	}
	return all
}

// vcenterObjects returns the numbers of the vCenters that have a VCenter object.
func (o *Options) vcenterObjects() []int {
	first := 2
	if o.VCenterObjects {
		first = 1
	}
	var all []int
	for n := first; n <= o.VCenters; n++ {
		all = append(all, n)
	}
	return all
}

// applyZones creates the objects of vCenters and zones.
func (c *Cluster) applyZones(ctx context.Context) error {
	zones, vcenters := c.options.zones(), c.options.vcenterObjects()
	if len(zones)+len(vcenters) == 0 {
		return nil
	}
	return c.progress.step("vCenters and zones", func() error {
		var manifests []string
		add := func(obj any) error {
			text, err := yaml.Marshal(obj)
			manifests = append(manifests, string(text))
			return err
		}
		for _, n := range vcenters {
			if err := c.addVCenter(n, add); err != nil {
				return err
			}
		}
		for _, z := range zones {
			if err := add(z); err != nil {
				return err
			}
		}
		return c.Apply(ctx, []byte(strings.Join(manifests, "---\n")))
	})
}

// addVCenter adds the object of a vCenter, and its Secret.
func (c *Cluster) addVCenter(n int, add func(any) error) error {
	v, name := c.vcenters[n], vcenterName(n)
	ca, err := os.ReadFile(v.CAFile)
	if err != nil {
		return fmt.Errorf("reading the authority of the simulated vCenter: %w", err)
	}
	secret := &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
		StringData: map[string]string{"username": v.Username, "password": v.Password},
	}
	if err := add(secret); err != nil {
		return err
	}
	return add(&vmv1alpha1.VCenter{
		TypeMeta:   metav1.TypeMeta{APIVersion: vmv1alpha1.SchemeGroupVersion.String(), Kind: "VCenter"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       vmv1alpha1.VCenterSpec{URL: v.URL, CABundle: ca, CredentialsSecretRef: vmv1alpha1.VCenterSecretReference{Name: name}},
	})
}

// zone returns the zone of a cluster, by its number from 0, in the simulated inventory.
func zone(name, vcenter string, cluster int) *vmv1alpha1.Zone {
	datastores := []string{"LocalDS_0", "LocalDS_1"}
	if cluster > 0 {
		datastores = []string{fmt.Sprintf("DC0_C%d_DS", cluster)}
	}
	return &vmv1alpha1.Zone{
		TypeMeta:   metav1.TypeMeta{APIVersion: vmv1alpha1.SchemeGroupVersion.String(), Kind: "Zone"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: vmv1alpha1.ZoneSpec{
			VCenter: vcenter, Datacenter: "DC0", Cluster: fmt.Sprintf("DC0_C%d", cluster), Folder: "/DC0/vm/slipway",
			Networks:       []vmv1alpha1.ZoneNetwork{{Name: "VM Network", Network: "VM Network"}, {Name: "DC0_DVPG0", Network: "DC0_DVPG0"}},
			DefaultNetwork: "VM Network",
			Storage:        vmv1alpha1.ZoneStorage{Datastores: datastores},
		},
	}
}
