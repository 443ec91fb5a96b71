// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
)

// reconciliation is one reconcile of a virtual machine. It is used by one worker only.
type reconciliation struct {
	provider.Result
	engine  *Engine
	req     *provider.Request
	key     provider.Key
	desired *driver.Desired
	// owner and ownerUID are the key and the UID of the object for which operations are started. Slots and outcomes
	// belong to it. They differ from key for publications and snapshots.
	owner    provider.Key
	ownerUID types.UID
	// writesRecord is true if the planned operation writes the object record.
	writesRecord bool
	// state is a copy of the object's state at the start of the reconcile.
	state objectState
	// outageErr is the error of the current outage, nil if there is none.
	outageErr *provider.UnreachableError
}

func (e *Engine) newReconciliation(req *provider.Request) *reconciliation {
	p := &reconciliation{engine: e, req: req, key: provider.KeyOf(req.VM), desired: desiredOf(req)}
	p.owner, p.ownerUID = p.key, req.VM.UID
	p.state, p.outageErr = e.stateOf(p.key, req.VM.UID), e.Unreachable()
	id := &p.desired.Identity
	id.MissingSince = p.firstMissing()
	// status may report a missing prerequisite in place of the outcome of an earlier create.
	if req.VM.DeletionTimestamp != nil && !hasExisted(req.VM) && p.mayHaveLeftovers() {
		id.MayHaveStartedCreate = true
	}
	return p
}

// reconcile moves the observed state towards the desired state.
func (p *reconciliation) reconcile(ctx context.Context, s driver.Observed) error {
	if p.outageErr != nil && s.State != driver.Exists {
		return p.reportUnreachable() // the inventory may be out of date
	}
	p.recordObserved(s.State)
	switch s.State {
	case driver.Absent:
		return p.handleAbsent(ctx, s.Copies)
	case driver.Exists:
		return p.handleExisting(ctx, s)
	case driver.Unknown:
	}
	return p.reportUnknown(s)
}

// recordObserved clears awaitsRead. If the virtual machine exists, it also clears a recorded absence.
func (p *reconciliation) recordObserved(s driver.State) {
	if s == driver.Unknown || !p.state.awaitsRead && (s == driver.Absent || p.state.absence == nil) {
		return
	}
	p.engine.updateState(p.key, p.uid(), func(r *objectState) {
		r.awaitsRead = false
		if s == driver.Exists {
			r.absence = nil
			p.engine.breaker.clearMissing(p.key)
		}
	})
	if s == driver.Exists {
		p.state.absence = nil
	}
}

// reportUnknown reports that the state is unknown, so that nothing is planned. A virtual machine that could be created
// now waits until the inventory is read, because it may already exist.
func (p *reconciliation) reportUnknown(s driver.Observed) error {
	if p.outageErr != nil {
		return p.reportUnreachable()
	}
	if s.Why != "" {
		p.Set(vmv1alpha1.ConditionCreated, "Unknown", vmv1alpha1.ReasonUnknownState, s.Why)
		return &provider.RequeueError{After: recheckInterval, Reason: s.Why}
	}
	if !hasExisted(p.req.VM) && p.req.PrerequisitesReady {
		p.Set(vmv1alpha1.ConditionCreated, "Unknown", vmv1alpha1.ReasonUnknownState, "the inventory of vCenter is being read")
	}
	p.engine.awaitRead(p.key, p.uid())
	return provider.ErrUnknownState
}

// desiredOf returns the desired state of a request.
func desiredOf(req *provider.Request) *driver.Desired {
	vm := req.VM
	w := &driver.Desired{
		Desired:     req.Desired,
		Identity:    identity(vm),
		Name:        vm.Name,
		ProviderID:  vm.Spec.ProviderID,
		Adopted:     vm.Spec.InstanceUUID != "",
		Adapters:    adapters(vm),
		GuestInfo:   guestInfo(vm),
		NoPromotion: vm.Spec.PromoteDisksMode == vmv1alpha1.PromoteDisksModeDisabled,
	}
	if n := vm.Status.Network; n != nil {
		w.PrimaryAddresses = []string{n.PrimaryIP4, n.PrimaryIP6}
	}
	fast := req.FastDeploy != "" && req.FastDeploy != vmv1alpha1.FastDeployOff
	w.Identity.HasCopiedDisks = fast || meta.FindStatusCondition(vm.Status.Conditions, vmv1alpha1.ConditionImageCacheReady) != nil
	if own := vm.Spec.Devices; vm.Spec.Preference != nil && vm.Spec.ClassName == "" {
		w.TPMPreferred = own == nil || own.TPM == nil
	}
	return w
}

// guestInfo returns the guestinfo variables in the readiness probe.
func guestInfo(vm *vmv1alpha1.VirtualMachine) []string {
	if vm.Spec.ReadinessProbe == nil {
		return nil
	}
	var names []string
	for _, action := range vm.Spec.ReadinessProbe.GuestInfo {
		names = append(names, action.Key)
	}
	return names
}

// adapters returns the device keys of the network adapters in status, by interface name.
func adapters(vm *vmv1alpha1.VirtualMachine) map[string]int32 {
	if vm.Status.Network == nil {
		return nil
	}
	out := map[string]int32{}
	for _, i := range vm.Status.Network.Interfaces {
		if i.Name != "" {
			out[i.Name] = i.DeviceKey
		}
	}
	return out
}

// identity returns all identifiers of the virtual machine of vm.
func identity(vm *vmv1alpha1.VirtualMachine) driver.Identity {
	id := driver.Identity{
		Key: provider.KeyOf(vm).NamespacedName, UID: string(vm.UID),
		InstanceUUID: strings.ToLower(string(vm.UID)), UniqueID: vm.Status.UniqueID,
		BiosUUID: strings.ToLower(vm.Status.BiosUUID),
		Zone:     cmp.Or(vm.Status.Zone, vmv1alpha1.DefaultZone),
	}
	if vm.Spec.InstanceUUID != "" {
		id.InstanceUUID = strings.ToLower(vm.Spec.InstanceUUID)
	}
	if id.BiosUUID == "" && vm.Spec.Firmware != nil {
		id.BiosUUID = strings.ToLower(vm.Spec.Firmware.UUID)
	}
	id.ConfirmedNewID = confirmedNewID(vm)
	id.NeedsDestroyedCheck = hasExisted(vm) && (vm.DeletionTimestamp != nil || vm.Spec.WhenMissing == vmv1alpha1.WhenMissingRecreate)
	if vm.DeletionTimestamp != nil {
		id.DeletedAt, id.MayHaveStartedCreate = vm.DeletionTimestamp.Time, mayHaveStartedCreate(vm)
	}
	return id
}

// mayHaveStartedCreate reports whether a create may have started whose outcome is not in status. A failed create may
// still have succeeded in vSphere if only its response was lost.
func mayHaveStartedCreate(vm *vmv1alpha1.VirtualMachine) bool {
	if vm.Status.UniqueID != "" {
		return false
	}
	c := meta.FindStatusCondition(vm.Status.Conditions, vmv1alpha1.ConditionCreated)
	if c == nil {
		return true
	}
	switch c.Reason {
	case vmv1alpha1.ReasonWaitingForPrerequisites, vmv1alpha1.ReasonInvalid:
		return false
	}
	return true
}

// refuseForeign rejects an object that refers to the virtual machine of another object by its instance UUID. Otherwise
// a user with permissions in one namespace could access other namespaces. The message does not identify the owner,
// because the user may not be allowed to read its namespace.
func (p *reconciliation) refuseForeign() error {
	p.Observation = &provider.Observation{}
	err := errors.New("the vSphere VM with instance UUID " + p.desired.Identity.InstanceUUID + " belongs to another object")
	p.False(vmv1alpha1.ConditionCreated, vmv1alpha1.ReasonInvalid, err.Error())
	return &provider.NoRequeueError{Err: err}
}
