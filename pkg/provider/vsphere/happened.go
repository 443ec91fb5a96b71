// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"fmt"
	"time"

	"github.com/vmware/govmomi/vim25/mo"
	vimtypes "github.com/vmware/govmomi/vim25/types"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/report"
)

var eventKinds = report.EventKinds()

// happened returns a handler that passes events of the virtual machines of objects to tell. It
// returns nil if tell is nil.
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

// detached returns a function that reports to tell each disk that is detached before its VM is
// destroyed. It returns nil if tell is nil.
func (d *Driver) detached(tell func(provider.Happening)) func(vm *mo.VirtualMachine, file, why string) {
	if tell == nil {
		return nil
	}
	return func(vm *mo.VirtualMachine, file, why string) {
		owner, ok := observe.OwnerOf(vm)
		if !ok {
			return
		}
		tell(provider.Happening{
			Key: owner.Key, UID: types.UID(owner.UID), ID: fmt.Sprintf("%s/%s/detached %s", d.session.Info().Installation, vm.Self.Value, file),
			At: time.Now(), Reason: "DiskDetached",
			Note: conditions.Line(fmt.Sprintf("disk %s was detached and kept before the deletion of the vSphere VM: %s", file, why), conditions.MaxNote),
		})
	}
}
