// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/slipway-dev/slipway/cmd/virtctl/verbs/install"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/access"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/session"
)

// readZones reads the Zones of --zones.
func (c *check) readZones() ([]vmv1alpha1.Zone, error) {
	if c.zones == "" {
		return nil, nil
	}
	data, err := c.f.ReadFile(c.zones)
	if err != nil {
		return nil, fmt.Errorf("--zones: %w", err)
	}
	zones, err := access.ReadZones(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("--zones %s: %w", c.zones, err)
	}
	return zones, nil
}

// zonesOf returns the Zones of the cluster that belong to the vCenter of s. url is its address.
func (c *check) zonesOf(ctx context.Context, s *session.Session, url string) []vmv1alpha1.Zone {
	if !c.served {
		return nil
	}
	if _, err := s.Vim(ctx); err != nil {
		return nil // access.Check reports it.
	}
	vcenters, err := listObjects[vmv1alpha1.VCenter](ctx, c, install.VCentersResource)
	if err != nil {
		c.note("the Zones of the cluster are not checked in vCenter: %v", err)
		return nil
	}
	zones, err := listObjects[vmv1alpha1.Zone](ctx, c, "zones")
	if err != nil {
		c.note("the Zones of the cluster are not checked in vCenter: %v", err)
		return nil
	}
	described, names := belongingTo(vcenters, s.Info().InstanceUUID, url), []string{}
	var here []vmv1alpha1.Zone
	for i := range zones {
		z := &zones[i]
		if described[z.VCenterName()] {
			here, names = append(here, *z), append(names, z.Name)
		}
	}
	if len(here) > 0 {
		c.note("checking the cluster's Zones of this vCenter: %s", strings.Join(names, ", "))
	}
	return here
}

// belongingTo returns the names of the VCenters that describe a vCenter. A VCenter to which the server has not connected
// yet is compared by its URL. If no other VCenter describes the vCenter, a VCenter default that does not exist is assumed
// to do so: flags of the server describe it.
func belongingTo(vcenters []vmv1alpha1.VCenter, uuid, url string) map[string]bool {
	names, hasDefault := map[string]bool{}, false
	for i := range vcenters {
		v := &vcenters[i]
		hasDefault = hasDefault || v.Name == vmv1alpha1.DefaultVCenter
		if v.Status.InstanceUUID == uuid || v.Status.InstanceUUID == "" && v.Spec.URL == url {
			names[v.Name] = true
		}
	}
	if len(names) == 0 && !hasDefault {
		names[vmv1alpha1.DefaultVCenter] = true
	}
	return names
}

// listObjects lists the objects of a cluster-scoped resource of Slipway.
func listObjects[T any](ctx context.Context, c *check, resource string) ([]T, error) {
	list, err := c.cluster.Client.Resource(vmv1alpha1.SchemeGroupVersion.WithResource(resource)).List(ctx, metav1.ListOptions{})
	if apierrors.IsForbidden(err) {
		return nil, fmt.Errorf("you have no permission to list %s", resource)
	}
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", resource, err)
	}
	all := make([]T, len(list.Items))
	for i := range list.Items {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(list.Items[i].Object, &all[i]); err != nil {
			return nil, fmt.Errorf("decoding %s: %w", install.Called(&list.Items[i]), err)
		}
	}
	return all, nil
}
