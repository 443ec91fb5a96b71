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

// Claims is why virtual machines of the zone cannot have the disks of claims: the volume
// service of its vCenter does not have one, or its hosts do not see the datastore that it
// is on. Claims whose disk is not known are left out.
func (r *Resolver) Claims(ctx context.Context, w *driver.Want) error {
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
			failures = append(failures, &NotUsableError{Missing: true, Message: fmt.Sprintf("%s: the volume service of its vCenter has no disk %s", hardware.Volume(volume), id)})
		case url != "" && !slices.Contains(seen, url):
			failures = append(failures, &NotUsableError{Message: fmt.Sprintf("%s: disk %s is on datastore %s, which no host of it sees", hardware.Volume(volume), id, url)})
		}
	}
	return errors.Join(failures...)
}

// volumes are the URLs of the datastores that volumes are on, by ID; those that the service
// does not have are left out.
func (r *Resolver) volumes(ctx context.Context, ids []cnstypes.CnsVolumeId) (map[string]string, error) {
	clients, err := r.session.Volumes(ctx)
	if err != nil {
		return nil, err
	}
	res, err := cnsmethods.CnsQueryVolume(ctx, clients.Service, &cnstypes.CnsQueryVolume{
		This: cns.CnsVolumeManagerInstance, Filter: &cnstypes.CnsQueryFilter{VolumeIds: ids},
	})
	if err != nil {
		return nil, fmt.Errorf("asking the volume service of vCenter for the disks of claims: %w", err)
	}
	out := make(map[string]string, len(ids))
	for i := range res.Returnval.Volumes {
		v := &res.Returnval.Volumes[i]
		out[strings.ToLower(v.VolumeId.Id)] = v.DatastoreUrl
	}
	return out, nil
}
