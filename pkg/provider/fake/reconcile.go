// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/operation"
)

// create handles a VM that does not exist.
func (p *Provider) create(ctx context.Context, key types.NamespacedName, req *provider.Request) (<-chan error, error) {
	st := &req.VM.Status
	st.PowerState, st.UniqueID, st.InstanceUUID, st.BiosUUID, st.NodeName, st.Network = "", "", "", "", "", nil
	if _, busy := p.ops.Running(key); busy {
		return nil, provider.ErrReconcileInProgress
	}
	if !req.PrerequisitesReady || req.Effective == nil || req.Image == nil {
		set(req, vmv1alpha1.ConditionCreated, false, vmv1alpha1.ReasonWaitingForPrerequisites)
		return nil, nil
	}
	uuid, effective := instanceUUID(req), req.Effective.DeepCopy()
	ch, err := p.ops.StartCreate(ctx, key, req.Priority, func(ctx context.Context) error {
		return p.run(ctx, operation.Create, func() {
			if p.vms[uuid] != nil {
				return
			}
			p.made++
			p.vms[uuid] = &VM{
				Key: key, Owner: req.VM.UID, UniqueID: fmt.Sprintf("fake-%d", p.made),
				PowerState: vmv1alpha1.PoweredOff, Effective: effective,
			}
		})
	})
	switch {
	case errors.Is(err, provider.ErrTooManyCreates):
		set(req, vmv1alpha1.ConditionCreated, false, vmv1alpha1.ReasonTooManyCreates)
	case err == nil:
		set(req, vmv1alpha1.ConditionCreated, false, vmv1alpha1.ReasonCreating)
	}
	return ch, err
}

// update handles a VM that exists.
func (p *Provider) update(ctx context.Context, key types.NamespacedName, req *provider.Request, vm *VM) (<-chan error, error) {
	report(req, vm)
	if _, busy := p.ops.Running(key); busy {
		return nil, provider.ErrReconcileInProgress
	}
	if vm.Paused {
		return nil, provider.ErrPaused
	}
	kind, change, err := plan(req, vm)
	if change == nil {
		return nil, err
	}
	uuid := instanceUUID(req)
	return p.ops.Start(ctx, key, operation.Info{Kind: kind}, func(ctx context.Context) error {
		return p.run(ctx, kind, func() {
			if v := p.vms[uuid]; v != nil {
				change(v)
			}
		})
	})
}

// report puts what is observed into status.
func report(req *provider.Request, vm *VM) {
	st := &req.VM.Status
	set(req, vmv1alpha1.ConditionCreated, true, vmv1alpha1.ReasonSucceeded)
	st.PowerState, st.UniqueID, st.InstanceUUID, st.BiosUUID = vm.PowerState, vm.UniqueID, instanceUUID(req), instanceUUID(req)
	st.NodeName, st.Network = "fake-host", nil
	if t, err := time.Parse(time.RFC3339Nano, vm.Restarted); err == nil {
		st.LastRestartTime = &metav1.Time{Time: t.Truncate(time.Second)}
	}
	if vm.PowerState == vmv1alpha1.PoweredOn {
		st.Network = &vmv1alpha1.VirtualMachineNetworkStatus{PrimaryIP4: vm.Address}
		set(req, vmv1alpha1.ConditionGuestToolsReady, true, vmv1alpha1.ReasonSucceeded)
	} else {
		set(req, vmv1alpha1.ConditionGuestToolsReady, false, vmv1alpha1.ReasonPoweredOff)
	}
}

// plan decides what is to change next; a nil change means nothing.
func plan(req *provider.Request, vm *VM) (operation.Kind, func(*VM), error) {
	desired := req.VM.Spec.PowerState
	if desired == "" {
		desired = vmv1alpha1.PoweredOn
	}
	differs := req.Effective != nil && !equality.Semantic.DeepEqual(req.Effective, vm.Effective)
	switch {
	case vm.Owner == "":
		set(req, vmv1alpha1.ConditionConfigurationSynced, false, vmv1alpha1.ReasonInProgress)
		key, uid := keyOf(req), req.VM.UID
		return operation.Reconfigure, func(v *VM) { v.Key, v.Owner = key, uid }, nil
	case differs && vm.PowerState == vmv1alpha1.PoweredOff:
		set(req, vmv1alpha1.ConditionConfigurationSynced, false, vmv1alpha1.ReasonInProgress)
		effective := req.Effective.DeepCopy()
		return operation.Reconfigure, func(v *VM) { v.Effective = effective }, nil
	case differs:
		req.VM.Status.RestartRequired = []vmv1alpha1.RestartRequirement{{Path: "spec", Running: "another", Desired: "this"}}
		set(req, vmv1alpha1.ConditionConfigurationSynced, true, vmv1alpha1.ReasonRestartRequired)
	case req.Effective == nil:
		set(req, vmv1alpha1.ConditionConfigurationSynced, false, vmv1alpha1.ReasonWaitingForPrerequisites)
	default:
		req.VM.Status.RestartRequired = nil
		set(req, vmv1alpha1.ConditionConfigurationSynced, true, vmv1alpha1.ReasonSucceeded)
	}
	if vm.PowerState == desired {
		set(req, vmv1alpha1.ConditionPowerStateSynced, true, vmv1alpha1.ReasonSucceeded)
		return planRestart(req, vm)
	}
	return planPower(req, vm, desired)
}

func planPower(req *provider.Request, vm *VM, desired vmv1alpha1.PowerState) (operation.Kind, func(*VM), error) {
	switch {
	case desired == vmv1alpha1.PoweredOff:
		set(req, vmv1alpha1.ConditionPowerStateSynced, false, vmv1alpha1.ReasonPoweringOff)
		return operation.PowerOff, func(v *VM) { v.PowerState, v.Address = desired, "" }, nil
	case desired == vmv1alpha1.Suspended && vm.PowerState == vmv1alpha1.PoweredOn:
		set(req, vmv1alpha1.ConditionPowerStateSynced, false, vmv1alpha1.ReasonSuspending)
		return operation.Suspend, func(v *VM) { v.PowerState = desired }, nil
	case desired == vmv1alpha1.Suspended:
		set(req, vmv1alpha1.ConditionPowerStateSynced, false, vmv1alpha1.ReasonInvalid)
		return "", nil, &provider.NoRequeueError{Err: errors.New("a virtual machine that is off cannot be suspended")}
	case req.Effective == nil:
		set(req, vmv1alpha1.ConditionPowerStateSynced, false, vmv1alpha1.ReasonWaitingForPrerequisites)
		return "", nil, nil
	}
	set(req, vmv1alpha1.ConditionPowerStateSynced, false, vmv1alpha1.ReasonPoweringOn)
	return operation.PowerOn, func(v *VM) { v.PowerState, v.Address = desired, "192.0.2.1" }, nil
}

// planRestart restarts a running VM once for each new time that has come.
func planRestart(req *provider.Request, vm *VM) (operation.Kind, func(*VM), error) {
	next := req.VM.Spec.NextRestartTime
	if next == "" || next == vm.Restarted || vm.PowerState != vmv1alpha1.PoweredOn {
		return "", nil, nil
	}
	t, err := time.Parse(time.RFC3339Nano, next)
	if err != nil {
		return "", nil, &provider.NoRequeueError{Err: fmt.Errorf("spec.nextRestartTime: %w", err)}
	}
	if wait := t.Sub(req.Now); wait > 0 {
		return "", nil, &provider.RequeueError{After: wait, Reason: "a restart is asked for at a later time"}
	}
	effective := req.Effective.DeepCopy()
	return operation.Restart, func(v *VM) {
		v.Restarted = next
		if effective != nil {
			v.Effective = effective
		}
	}, nil
}

// set sets a condition.
func set(req *provider.Request, kind string, ok bool, reason string) {
	status := metav1.ConditionFalse
	if ok {
		status = metav1.ConditionTrue
	}
	meta.SetStatusCondition(&req.VM.Status.Conditions, metav1.Condition{
		Type: kind, Status: status, Reason: reason, ObservedGeneration: req.VM.Generation,
		LastTransitionTime: metav1.NewTime(req.Now.Truncate(time.Second)),
	})
}
