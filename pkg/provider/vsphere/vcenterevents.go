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

// eventHandler returns a function that converts vCenter events of the objects' virtual machines and calls
// handle with each. It returns nil if handle is nil.
func (d *Driver) eventHandler(handle func(provider.HypervisorEvent)) func(vimtypes.BaseEvent) {
	if handle == nil {
		return nil
	}
	return func(e vimtypes.BaseEvent) {
		h, vm, ok := report.EventOf(e)
		if !ok {
			return
		}
		owner, ok := observe.OwnerOf(d.inventory.Get(vm))
		if !ok {
			return
		}
		h.Key, h.UID = owner.Key, types.UID(owner.UID)
		h.ID = fmt.Sprintf("%s/%d", d.session.Info().InstanceUUID, e.GetEvent().Key)
		handle(h)
	}
}

// detachHandler returns a function that calls handle for each disk that is detached before its VM is
// destroyed. It returns nil if handle is nil.
func (d *Driver) detachHandler(handle func(provider.HypervisorEvent)) func(vm *mo.VirtualMachine, file, why string) {
	if handle == nil {
		return nil
	}
	return func(vm *mo.VirtualMachine, file, why string) {
		owner, ok := observe.OwnerOf(vm)
		if !ok {
			return
		}
		handle(provider.HypervisorEvent{
			Key: owner.Key, UID: types.UID(owner.UID), ID: fmt.Sprintf("%s/%s/detached %s", d.session.Info().InstanceUUID, vm.Self.Value, file),
			At: time.Now(), Reason: "DiskDetached",
			Note: conditions.TruncateLine(fmt.Sprintf("disk %s was detached and kept before the deletion of the vSphere VM: %s", file, why), conditions.MaxNote),
		})
	}
}
