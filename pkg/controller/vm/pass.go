// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// pass is what one reconcile of one virtual machine knows. It lives on the stack
// of one worker.
type pass struct {
	// original is the object as it was read; never changed.
	original *vmv1alpha1.VirtualMachine
	// vm is the copy that the steps work on and that is persisted at the end.
	vm *vmv1alpha1.VirtualMachine
	// vmi is the running instance as it was read, nil when there is none; never
	// changed.
	vmi *vmv1alpha1.VirtualMachineInstance
	// effective is nil when the size or a preference could not be resolved.
	effective *vmv1alpha1.VirtualMachineInstanceSpec
	// machine is what is known of the Machine whose infrastructure the virtual machine is, nil
	// for none.
	machine *machineFacts
	// bootstrap is that of the spec, with the data of the Machine. secret is that with the data,
	// if this pass has read it.
	bootstrap *vmv1alpha1.VirtualMachineBootstrap
	secret    *corev1.Secret
	// captured are the revisions that the status names only since this pass.
	captured []*itv1alpha1.ControllerRevision
	// claims are those of the volumes, by the name of the volume, as far as they were read.
	claims map[string]provider.Claim
	// attached are the disks with a life of their own that the virtual machine has, if
	// attachedKnown.
	attached      []string
	attachedKnown bool
	// guestInfo are the variables of the guest that the readiness probe asks for, if
	// guestInfoKnown.
	guestInfo      map[string]string
	guestInfoKnown bool
	// hasSize is the size that vSphere shows, nil while that is not known.
	hasSize *vmv1alpha1.VirtualMachineResources
	// settled is true when the provider compared the virtual machine with its spec and
	// had nothing to start.
	settled bool
	// restoring is true when the object was made what it was at a snapshot.
	restoring bool
	// now is the time of the pass.
	now time.Time
	// result is what the loop shall do next when the pass has no error.
	result controller.Result
}

func newPass(original *vmv1alpha1.VirtualMachine, now time.Time) *pass {
	return &pass{original: original, vm: original.DeepCopy(), now: now}
}

func (p *pass) key() types.NamespacedName {
	return types.NamespacedName{Namespace: p.vm.Namespace, Name: p.vm.Name}
}

// again asks for another pass after a time, 0 meaning at once. The earliest of
// several wins.
func (p *pass) again(after time.Duration) {
	if after <= 0 {
		p.result.Requeue = true
		return
	}
	if p.result.RequeueAfter == 0 || after < p.result.RequeueAfter {
		p.result.RequeueAfter = after
	}
}
