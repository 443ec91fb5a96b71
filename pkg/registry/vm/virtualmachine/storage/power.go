// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/vm/validation"
)

// powerVerb is the name of a power subresource.
type powerVerb string

const (
	verbStart   powerVerb = "start"
	verbStop    powerVerb = "stop"
	verbRestart powerVerb = "restart"
	verbSuspend powerVerb = "suspend"
)

// PowerREST implements start, stop, restart and suspend. It sets the desired state in spec, and a controller applies
// it. A request for the state that is already desired succeeds without a change, except for a restart and for a start
// of a VM that is not powered on.
type PowerREST struct {
	verb   powerVerb
	now    func() time.Time
	update updater
}

var (
	_ rest.NamedCreater    = &PowerREST{}
	_ rest.StorageMetadata = &PowerREST{}
)

// New returns an empty request body.
func (*PowerREST) New() runtime.Object { return &vmv1alpha1.PowerOptions{} }

// Destroy does nothing, because the main endpoint owns the store.
func (*PowerREST) Destroy() {}

// ProducesMIMETypes returns nil, which means the encodings of the server.
func (*PowerREST) ProducesMIMETypes(string) []string { return nil }

// ProducesObject returns the type of the response for the API documentation.
func (*PowerREST) ProducesObject(string) any { return &vmv1alpha1.VirtualMachine{} }

// Create applies the request to a virtual machine and returns the result of answer.
func (r *PowerREST) Create(ctx context.Context, name string, body runtime.Object, validate rest.ValidateObjectFunc, options *metav1.CreateOptions) (runtime.Object, error) {
	power, err := checkBody(ctx, string(r.verb), name, body, validate, func(o *vmv1alpha1.PowerOptions) field.ErrorList {
		return validation.ValidatePowerOptions(o, string(r.verb), name)
	})
	if err != nil {
		return nil, err
	}
	changed, err := r.update.mutate(ctx, name, func(v *vmv1alpha1.VirtualMachine) error {
		return setPower(v, r.verb, power.Mode, r.now())
	}, options, power.DryRun)
	if err != nil {
		return nil, err
	}
	return powerResult(changed), nil
}

// powerResult returns the part of a VM that a user may see who may change its power state but perhaps not read it: status
// and the power fields of spec. Bootstrap and annotations are omitted because they may contain passwords. The result
// is invalid as an update, because it has no size; a client therefore cannot remove the omitted fields by writing it
// back.
func powerResult(v *vmv1alpha1.VirtualMachine) *vmv1alpha1.VirtualMachine {
	shown := &vmv1alpha1.VirtualMachine{TypeMeta: v.TypeMeta, ObjectMeta: *v.ObjectMeta.DeepCopy(), Status: *v.Status.DeepCopy()}
	shown.Annotations = nil
	shown.Spec = vmv1alpha1.VirtualMachineSpec{
		PowerState: v.Spec.PowerState, PowerOffMode: v.Spec.PowerOffMode, SuspendMode: v.Spec.SuspendMode,
		RestartMode: v.Spec.RestartMode, NextRestartTime: v.Spec.NextRestartTime,
	}
	return shown
}

// setPower applies verb to spec. A group member that inherited its power state gets its own.
func setPower(v *vmv1alpha1.VirtualMachine, verb powerVerb, mode vmv1alpha1.PowerOpMode, now time.Time) error {
	if v.DeletionTimestamp != nil {
		return apierrors.NewConflict(vmv1alpha1.Resource("virtualmachines"), v.Name, fmt.Errorf("cannot %s a virtual machine that is being deleted", verb))
	}
	desired := v.DesiredPowerState(v.Status.PowerState)
	switch verb {
	case verbStart:
		requestStart(v, desired, now)
		v.Spec.PowerState = vmv1alpha1.PoweredOn
	case verbStop:
		v.Spec.PowerState = vmv1alpha1.PoweredOff
		setMode(&v.Spec.PowerOffMode, mode)
	case verbSuspend:
		if desired == vmv1alpha1.PoweredOff {
			return powerConflictError(v, verb, desired)
		}
		v.Spec.PowerState = vmv1alpha1.Suspended
		setMode(&v.Spec.SuspendMode, mode)
	case verbRestart:
		if desired != vmv1alpha1.PoweredOn {
			return powerConflictError(v, verb, desired)
		}
		v.Spec.NextRestartTime = now.UTC().Format(time.RFC3339)
		setMode(&v.Spec.RestartMode, mode)
	}
	return nil
}

// requestStart requests another attempt to power on a virtual machine whose desired state is already PoweredOn, but
// which is off because of its powerPolicy or a pause between attempts.
func requestStart(v *vmv1alpha1.VirtualMachine, desired vmv1alpha1.PowerState, now time.Time) {
	if desired != vmv1alpha1.PoweredOn || v.Status.PowerState == vmv1alpha1.PoweredOn || v.Status.PowerState == "" {
		return
	}
	if v.Annotations == nil {
		v.Annotations = map[string]string{}
	}
	v.Annotations[vmv1alpha1.AnnotationStartRequested] = now.UTC().Format(time.RFC3339)
}

// powerConflictError returns the error for a desired power state that does not allow verb.
func powerConflictError(v *vmv1alpha1.VirtualMachine, verb powerVerb, desired vmv1alpha1.PowerState) error {
	of, done := "spec.powerState", map[powerVerb]string{verbSuspend: "suspended", verbRestart: "restarted"}[verb]
	if v.Spec.PowerState == "" {
		of = "power state in its group"
	}
	return apierrors.NewConflict(vmv1alpha1.Resource("virtualmachines"), v.Name,
		fmt.Errorf("cannot %s a virtual machine whose %s is %s: only %s can be %s", verb, of, desired, vmv1alpha1.PoweredOn, done))
}

func setMode(field *vmv1alpha1.PowerOpMode, mode vmv1alpha1.PowerOpMode) {
	if mode != "" {
		*field = mode
	}
}
