// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachine

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"

	vm "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

var (
	_ rest.RESTUpdateStrategy = StatusStrategy{}
	_ rest.RESTUpdateStrategy = PowerStrategy{}
	_ rest.RESTUpdateStrategy = RefreshStrategy{}
)

// PowerStrategy is the behaviour of start, stop, restart and suspend.
type PowerStrategy struct{ Strategy }

// NewPowerStrategy returns the behaviour of the power endpoints.
func NewPowerStrategy(s Strategy) PowerStrategy { return PowerStrategy{s} }

// PrepareForUpdate keeps everything but the power fields of spec.
func (s PowerStrategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	updated, stored := obj.(*vm.VirtualMachine), old.(*vm.VirtualMachine)
	spec := *stored.Spec.DeepCopy()
	spec.PowerState = updated.Spec.PowerState
	spec.PowerOffMode = updated.Spec.PowerOffMode
	spec.SuspendMode = updated.Spec.SuspendMode
	spec.RestartMode = updated.Spec.RestartMode
	spec.NextRestartTime = updated.Spec.NextRestartTime
	fillRestartTime(&spec, s.sources.Now)
	updated.Spec = spec
	updated.Status = stored.Status
	metav1.ResetObjectMetaForStatus(&updated.ObjectMeta, &stored.ObjectMeta)
	bumpGeneration(updated, stored)
}

// WarningsOnUpdate is empty: the caller cannot change what it would be about.
func (PowerStrategy) WarningsOnUpdate(context.Context, runtime.Object, runtime.Object) []string {
	return nil
}

// Aspect is what a refresh is about.
type Aspect int

const (
	// AspectInstancetype is the instance type.
	AspectInstancetype Aspect = iota
	// AspectPreference is the preference.
	AspectPreference
)

// RefreshStrategy is the behaviour of refresh-instancetype and refresh-preference.
// It clears references in spec and in status, which no other endpoint does at once:
// a controller that saw only one half would capture the old revision again.
type RefreshStrategy struct {
	Strategy
	aspect Aspect
}

// NewRefreshStrategy returns the behaviour of the refresh endpoint of aspect.
func NewRefreshStrategy(s Strategy, aspect Aspect) RefreshStrategy {
	return RefreshStrategy{Strategy: s, aspect: aspect}
}

// PrepareForUpdate keeps everything but the references to the aspect's revision.
func (s RefreshStrategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	updated, stored := obj.(*vm.VirtualMachine), old.(*vm.VirtualMachine)
	spec, status := *stored.Spec.DeepCopy(), *stored.Status.DeepCopy()
	switch s.aspect {
	case AspectInstancetype:
		if to, from := spec.Instancetype, updated.Spec.Instancetype; to != nil && from != nil {
			to.ControllerRevisionRef, to.RevisionName = from.ControllerRevisionRef, from.RevisionName
		}
		if to, from := status.InstancetypeRef, updated.Status.InstancetypeRef; to != nil && from != nil {
			to.ControllerRevisionRef = from.ControllerRevisionRef
		} else if to != nil && to.Name == "" {
			status.InstancetypeRef = nil // nothing could be inferred, which is forgotten
		}
	case AspectPreference:
		if to, from := spec.Preference, updated.Spec.Preference; to != nil && from != nil {
			to.ControllerRevisionRef, to.RevisionName = from.ControllerRevisionRef, from.RevisionName
		}
		if to, from := status.PreferenceRef, updated.Status.PreferenceRef; to != nil && from != nil {
			to.ControllerRevisionRef = from.ControllerRevisionRef
		} else if to != nil && to.Name == "" {
			status.PreferenceRef = nil
		}
	}
	updated.Spec, updated.Status = spec, status
	metav1.ResetObjectMetaForStatus(&updated.ObjectMeta, &stored.ObjectMeta)
	bumpGeneration(updated, stored)
}

// WarningsOnUpdate is empty: the caller cannot change what it would be about.
func (RefreshStrategy) WarningsOnUpdate(context.Context, runtime.Object, runtime.Object) []string {
	return nil
}
