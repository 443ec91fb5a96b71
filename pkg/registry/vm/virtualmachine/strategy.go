// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachine

import (
	"context"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage/names"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	vm "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/vm/validation"
	"github.com/slipway-dev/slipway/pkg/registry/standard"
)

// apiVersion is the version in which managed fields are tracked.
const apiVersion = fieldpath.APIVersion("vm.slipway.dev/v1alpha1")

// Sources gives the strategies what they cannot compute.
type Sources struct {
	// Now is the clock.
	Now func() time.Time
	// NewUUID returns a random UUID in lower case.
	NewUUID func() string
}

// Strategy is the behaviour of the main endpoint.
type Strategy struct {
	runtime.ObjectTyper
	names.NameGenerator
	sources Sources
}

var (
	_ rest.RESTCreateStrategy  = Strategy{}
	_ rest.RESTUpdateStrategy  = Strategy{}
	_ rest.RESTDeleteStrategy  = Strategy{}
	_ rest.ResetFieldsStrategy = Strategy{}
)

// NewStrategy returns the behaviour of the main endpoint.
func NewStrategy(typer runtime.ObjectTyper, sources Sources) Strategy {
	return Strategy{ObjectTyper: typer, NameGenerator: names.SimpleNameGenerator, sources: sources}
}

// NamespaceScoped is true.
func (Strategy) NamespaceScoped() bool { return true }

// AllowCreateOnUpdate is false: a PUT never creates.
func (Strategy) AllowCreateOnUpdate(context.Context) bool { return false }

// AllowUnconditionalUpdate is false: a PUT names the version that it replaces.
func (Strategy) AllowUnconditionalUpdate(context.Context) bool { return false }

// Canonicalize changes nothing.
func (Strategy) Canonicalize(runtime.Object) {}

// GetResetFields names what the main endpoint ignores.
func (Strategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return map[fieldpath.APIVersion]*fieldpath.Set{
		apiVersion: fieldpath.NewSet(fieldpath.MakePathOrDie("status")),
	}
}

// unobserved is the status.observedGeneration of a VM that no controller has looked at
// yet. Without it tools that follow the kstatus convention take one for complete.
const unobserved = -1

// PrepareForCreate drops status and fills finalizer, firmware UUID and interface.
func (s Strategy) PrepareForCreate(_ context.Context, obj runtime.Object) {
	created := obj.(*vm.VirtualMachine)
	created.Status = vm.VirtualMachineStatus{ObservedGeneration: unobserved}
	created.Generation = 1
	fillAtCreation(created, s.sources)
}

// PrepareForUpdate keeps the stored status and what the creation filled.
func (s Strategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	updated, stored := obj.(*vm.VirtualMachine), old.(*vm.VirtualMachine)
	updated.Status = stored.Status
	fillAtUpdate(updated, stored, s.sources)
	bumpGeneration(updated, stored)
}

// Validate refuses what cannot be created.
func (Strategy) Validate(_ context.Context, obj runtime.Object) field.ErrorList {
	return validation.ValidateVirtualMachine(obj.(*vm.VirtualMachine))
}

// ValidateUpdate refuses what cannot become of the stored object.
func (Strategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	return validation.ValidateVirtualMachineUpdate(obj.(*vm.VirtualMachine), old.(*vm.VirtualMachine))
}

// WarningsOnCreate names what has no effect or is deprecated.
func (Strategy) WarningsOnCreate(_ context.Context, obj runtime.Object) []string {
	return validation.VirtualMachineWarnings(&obj.(*vm.VirtualMachine).Spec, field.NewPath("spec"))
}

// WarningsOnUpdate names what has no effect or is deprecated.
func (Strategy) WarningsOnUpdate(_ context.Context, obj, _ runtime.Object) []string {
	return validation.VirtualMachineWarnings(&obj.(*vm.VirtualMachine).Spec, field.NewPath("spec"))
}

// bumpGeneration counts changes of spec.
func bumpGeneration(updated, stored *vm.VirtualMachine) {
	if !apiequality.Semantic.DeepEqual(updated.Spec, stored.Spec) {
		updated.Generation = stored.Generation + 1
	}
}

// StatusStrategy is the behaviour of the status endpoint.
type StatusStrategy struct{ Strategy }

// NewStatusStrategy returns the behaviour of the status endpoint.
func NewStatusStrategy(s Strategy) StatusStrategy { return StatusStrategy{s} }

// GetResetFields names what the status endpoint ignores.
func (StatusStrategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return map[fieldpath.APIVersion]*fieldpath.Set{
		apiVersion: standard.StatusResetFields(),
	}
}

// PrepareForUpdate keeps everything but status.
func (StatusStrategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	updated, stored := obj.(*vm.VirtualMachine), old.(*vm.VirtualMachine)
	updated.Spec = stored.Spec
	metav1.ResetObjectMetaForStatus(&updated.ObjectMeta, &stored.ObjectMeta)
}

// ValidateUpdate refuses a status that no VM can have.
func (StatusStrategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	return validation.ValidateVirtualMachineStatusUpdate(obj.(*vm.VirtualMachine), old.(*vm.VirtualMachine))
}

// WarningsOnUpdate is empty: who writes status cannot change spec.
func (StatusStrategy) WarningsOnUpdate(context.Context, runtime.Object, runtime.Object) []string {
	return nil
}
