// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/vmware/govmomi/cns"
	cnsmethods "github.com/vmware/govmomi/cns/methods"
	cnstypes "github.com/vmware/govmomi/cns/types"

	"github.com/slipway-dev/slipway/pkg/hardware"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
)

// CheckClaims returns an error if virtual machines of the zone cannot use claims' disks: a disk is unknown to the
// vCenter's volume service, or the zone's hosts do not have its datastore. Claims whose disk is not known are
// ignored.
func (r *Resolver) CheckClaims(ctx context.Context, w *driver.Desired) error {
	var ids []cnstypes.CnsVolumeId
	for _, volume := range slices.Sorted(maps.Keys(w.Claims)) {
		if id := w.Claims[volume].VolumeID; id != "" {
			ids = append(ids, cnstypes.CnsVolumeId{Id: id})
		}
	}
	if len(ids) == 0 {
		return nil
	}
	on, err := r.volumes(ctx, ids)
	if err != nil {
		return err
	}
	seen, err := r.seenURLs(ctx)
	if err != nil {
		return err
	}
	var failures []error
	for _, volume := range slices.Sorted(maps.Keys(w.Claims)) {
		id := w.Claims[volume].VolumeID
		url, known := on[id]
		switch {
		case id == "":
		case !known:
			failures = append(failures, &NotUsableError{Missing: true, Message: fmt.Sprintf("%s: the vCenter's volume service has no disk %s", hardware.VolumePath(volume), id)})
		case url != "" && !slices.Contains(seen, url):
			failures = append(failures, &NotUsableError{Message: fmt.Sprintf("%s: disk %s is on datastore %s, which is not available on any host of the zone", hardware.VolumePath(volume), id, url)})
		}
	}
	return errors.Join(failures...)
}

// volumes returns the datastore URLs of volumes by ID. It leaves out volumes that the service does not have.
func (r *Resolver) volumes(ctx context.Context, ids []cnstypes.CnsVolumeId) (map[string]string, error) {
	clients, err := r.session.VolumeClients(ctx)
	if err != nil {
		return nil, err
	}
	res, err := cnsmethods.CnsQueryVolume(ctx, clients.Service, &cnstypes.CnsQueryVolume{
		This: cns.CnsVolumeManagerInstance, Filter: &cnstypes.CnsQueryFilter{VolumeIds: ids},
	})
	if err != nil {
		return nil, fmt.Errorf("querying vCenter's volume service for claims' disks: %w", err)
	}
	out := make(map[string]string, len(ids))
	for i := range res.Returnval.Volumes {
		v := &res.Returnval.Volumes[i]
		out[strings.ToLower(v.VolumeId.Id)] = v.DatastoreUrl
	}
	return out, nil
}
