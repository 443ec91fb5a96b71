// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"fmt"

	vimtypes "github.com/vmware/govmomi/vim25/types"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/report"
)

var eventKinds = report.EventKinds()

// happened tells of events of the virtual machines of objects; nil for nobody to tell.
func (d *Driver) happened(tell func(provider.Happening)) func(vimtypes.BaseEvent) {
	if tell == nil {
		return nil
	}
	return func(e vimtypes.BaseEvent) {
		h, vm, ok := report.Happening(e)
		if !ok {
			return
		}
		owner, ok := observe.OwnerOf(d.inventory.Get(vm))
		if !ok {
			return
		}
		h.Key, h.UID = owner.Key, types.UID(owner.UID)
		h.ID = fmt.Sprintf("%s/%d", d.session.Info().Installation, e.GetEvent().Key)
		tell(h)
	}
}
