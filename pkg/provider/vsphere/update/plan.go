// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package update

import (
	"errors"
	"time"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/operation"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/configspec"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

// Input is what the steps decide by.
type Input struct {
	// VM is the object; it is only read.
	VM *vmv1alpha1.VirtualMachine
	// Effective is the effective spec, nil when it cannot be resolved.
	Effective *vmv1alpha1.VirtualMachineInstanceSpec
	// Observed is the record of the vSphere VM.
	Observed *mo.VirtualMachine
	// Facts are those of Observed.
	Facts observe.Facts
	// Want is the wanted configuration.
	Want configspec.Want
	// NetworkUnknown is true when a network of Effective was not found, so that
	// the adapters cannot be compared.
	NetworkUnknown bool
	// ConfigHeld, if not nil, says that the reconfiguration failed a moment ago and
	// when it is tried again. What does not need it goes on.
	ConfigHeld *provider.RequeueError
	// Now is the time of the pass.
	Now time.Time
}

// Operation is one change of the vSphere VM.
type Operation struct {
	// Kind is what it does.
	Kind operation.Kind
	// Mode of a power operation.
	Mode vmv1alpha1.PowerOpMode
	// Upgrade is the hardware version to upgrade to before a reconfiguration.
	Upgrade string
	// Spec is the reconfiguration; of a restart, the one to apply while the VM
	// is powered off. Nil for none.
	Spec *types.VirtualMachineConfigSpec
	// Version, if not empty, is that of the configuration that Spec was computed
	// from; vSphere shall refuse Spec when it has changed since. Values can be set
	// twice, but a device that is added twice is there twice.
	Version string
	// Record notes a restart in the VM, so that it is not repeated.
	Record *types.VirtualMachineConfigSpec
	// TakeBack undoes Record.
	TakeBack *types.VirtualMachineConfigSpec
	// GracePeriod bounds the wait for the guest of a soft operation; 0 means
	// the provider's default.
	GracePeriod time.Duration
}

// step looks at in, changes st and returns at most one operation.
type step struct {
	name string
	run  func(in *Input, st *vmv1alpha1.VirtualMachineStatus) (*Operation, error)
}

// steps in the specification's order. Nothing that the API can express asks
// for a schema upgrade or a backup yet: there is one version of the API, and
// its backup fields do not exist.
var steps = []step{
	{"schema upgrade", nothingAsked},
	{"status", reconcileStatus},
	{"backup", nothingAsked},
	{"config", reconcileConfig},
	{"power state", reconcilePower},
	{"snapshot", reconcileSnapshot},
}

// Plan returns the new status, the operation to start, and an error.
func Plan(in Input) (vmv1alpha1.VirtualMachineStatus, *Operation, error) {
	st := *in.VM.Status.DeepCopy()
	var failures []error
	for _, s := range steps {
		op, err := s.run(&in, &st)
		switch {
		case err == nil:
		case s.name == "snapshot",
			provider.IsNoRequeue(err) && (s.name != "config" || !in.poweringOff()):
			return st, nil, errors.Join(append(failures, err)...)
		default:
			failures = append(failures, err)
		}
		if op != nil {
			return st, op, errors.Join(failures...)
		}
	}
	return st, nil, errors.Join(failures...)
}

// Status returns the status of the facts alone, for a pass that must not plan.
func Status(in Input) vmv1alpha1.VirtualMachineStatus {
	st := *in.VM.Status.DeepCopy()
	_, _ = reconcileStatus(&in, &st)
	return st
}

// desired is the desired power state, with its default.
func (in *Input) desired() vmv1alpha1.PowerState {
	if in.VM.Spec.PowerState == "" {
		return vmv1alpha1.PoweredOn
	}
	return in.VM.Spec.PowerState
}

// poweringOff is true when the VM runs or is suspended and shall be off.
func (in *Input) poweringOff() bool {
	return in.Facts.PowerState != vmv1alpha1.PoweredOff && in.desired() == vmv1alpha1.PoweredOff
}

func nothingAsked(*Input, *vmv1alpha1.VirtualMachineStatus) (*Operation, error) { return nil, nil }

// reconcileSnapshot refuses what this provider cannot do, rather than ignore it.
func reconcileSnapshot(in *Input, _ *vmv1alpha1.VirtualMachineStatus) (*Operation, error) {
	if in.VM.Spec.CurrentSnapshotName == "" {
		return nil, nil
	}
	return nil, &provider.NoRequeueError{Err: errors.New("spec.currentSnapshotName: reverting to a snapshot is not supported by this version")}
}
