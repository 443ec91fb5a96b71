// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package update

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// SetCondition sets a condition of vm's status; generation is the one observed.
func SetCondition(st *vmv1alpha1.VirtualMachineStatus, generation int64, now time.Time, kind string, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&st.Conditions, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: message,
		ObservedGeneration: generation,
		LastTransitionTime: metav1.NewTime(now.UTC().Truncate(time.Second)),
	})
}

func (in *Input) set(st *vmv1alpha1.VirtualMachineStatus, kind string, status metav1.ConditionStatus, reason, message string) {
	SetCondition(st, in.VM.Generation, in.Now, kind, status, reason, message)
}

func (in *Input) setTrue(st *vmv1alpha1.VirtualMachineStatus, kind string) {
	in.set(st, kind, metav1.ConditionTrue, vmv1alpha1.ReasonSucceeded, "")
}

func (in *Input) setFalse(st *vmv1alpha1.VirtualMachineStatus, kind, reason, message string) {
	in.set(st, kind, metav1.ConditionFalse, reason, message)
}
