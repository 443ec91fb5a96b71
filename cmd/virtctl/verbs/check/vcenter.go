// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/slipway-dev/slipway/cmd/virtctl/deployment"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/access"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/placement"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/session"
)

// checkCalls is the maximum number of concurrent calls to vCenter.
const checkCalls = 8

// checkVCenter runs the checks of the server's --check-vcenter, and lists the available clusters, datastores and content
// libraries. Without zones it checks those of the cluster.
func (c *check) checkVCenter(ctx context.Context, v *deployment.VCenter, zones []vmv1alpha1.Zone) error {
	s, err := session.New(session.Options{
		URL: v.URL, CAPEM: v.CA, Thumbprint: v.Thumbprint, MaxCalls: checkCalls,
		Credentials: func(context.Context) (string, string, error) { return v.Username, v.Password, nil },
	})
	if err != nil {
		return fmt.Errorf("preparing the connection to vCenter: %w", err)
	}
	defer s.Close()
	places, specified := placesOf(c.args, s)
	if len(zones) == 0 && !specified {
		zones = c.zonesOf(ctx, s, v.URL)
	}
	resolvers := make([]*placement.Resolver, 0, len(zones))
	for i := range zones {
		resolvers = append(resolvers, placement.New(placement.Options{Session: s, Name: zones[i].Name, Zone: &zones[i].Spec}))
	}
	report, err := access.Check(ctx, s, placement.New(places), resolvers...)
	if err != nil {
		c.lacks("vCenter: %v", err)
		return nil
	}
	report.Print(c.f.Streams.Out)
	seen := access.ListVisible(ctx, s)
	seen.Print(c.f.Streams.Out)
	c.lacking = c.lacking || !report.OK()
	if c.record == "" {
		return nil
	}
	return c.recordVCenter(ctx, s, report)
}

// recordVCenter writes the recording. It does not overwrite an existing file.
func (c *check) recordVCenter(ctx context.Context, s *session.Session, report *access.Report) error {
	recording, err := access.Record(ctx, s, report)
	if err != nil {
		return fmt.Errorf("recording answers of vCenter: %w", err)
	}
	f, err := os.OpenFile(c.record, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("--record: %w", err)
	}
	if err := errors.Join(recording.Write(f), f.Close()); err != nil {
		return fmt.Errorf("--record: %w", err)
	}
	c.ok("%d objects and %d tasks are recorded in %s: review the file before you attach it to a report", len(recording.Properties), len(recording.Tasks), c.record)
	return nil
}

// placesOf returns the placement in vCenter that server flags specify, and whether they specify any.
func placesOf(args []string, s *session.Session) (places placement.Options, specified bool) {
	places.Session = s
	for _, arg := range args {
		name, value, _ := strings.Cut(arg, "=")
		switch name {
		case "--vcenter-datacenter":
			places.Datacenter = value
		case "--vcenter-resource-pool":
			places.ResourcePool = value
		case "--vcenter-folder":
			places.Folder = value
		case "--vcenter-datastore":
			places.Datastore = value
		case "--vcenter-network":
			places.Network = value
		case "--vcenter-networks":
			places.Networks = append(places.Networks, strings.Split(value, ",")...)
		default:
			continue
		}
		specified = true
	}
	return places, specified
}
