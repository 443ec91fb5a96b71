// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apiserver/admission/reverting"
)

func TestPendingRevert_RejectsChangesOfTheSpec(t *testing.T) {
	type vm = vmv1alpha1.VirtualMachine
	a := reverting.New(func(who user.Info) bool { return who.GetName() == "controller" })
	off := func(v *vm) { v.Spec.PowerState = vmv1alpha1.PoweredOff }
	clears := func(v *vm) { v.Spec.CurrentSnapshotName = "" }
	labels := func(v *vm) { v.Labels = map[string]string{"a": "b"} }
	another := func(v *vm) { v.Spec.CurrentSnapshotName = "after" }
	for name, tc := range map[string]struct {
		// reason of the condition; of an earlier generation if old is true
		reason  string
		old     bool
		changes []func(*vm)
		refused bool
	}{
		"a change before the revert begins":                       {"", false, []func(*vm){off}, true},
		"a change during the revert":                              {vmv1alpha1.ReasonReverting, false, []func(*vm){off}, true},
		"a change before a retry":                                 {vmv1alpha1.ReasonError, false, []func(*vm){off}, true},
		"a change while the snapshot is taken":                    {vmv1alpha1.ReasonNotReady, false, []func(*vm){off}, true},
		"another snapshot":                                        {vmv1alpha1.ReasonReverting, false, []func(*vm){another}, true},
		"withdrawal":                                              {vmv1alpha1.ReasonReverting, false, []func(*vm){clears}, false},
		"withdrawal with a change":                                {vmv1alpha1.ReasonReverting, false, []func(*vm){clears, off}, true},
		"labels":                                                  {vmv1alpha1.ReasonReverting, false, []func(*vm){labels}, false},
		"a change if the snapshot does not exist":                 {vmv1alpha1.ReasonNotFound, false, []func(*vm){off}, false},
		"a change that the revert needs":                          {vmv1alpha1.ReasonInvalid, false, []func(*vm){off}, false},
		"a change after an earlier request":                       {vmv1alpha1.ReasonNotFound, true, []func(*vm){off}, true},
		"withdrawal with a change if the snapshot does not exist": {vmv1alpha1.ReasonNotFound, false, []func(*vm){clears, off}, true},
	} {
		t.Run(name, func(t *testing.T) {
			stored := &vm{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "vm", Generation: 2}}
			stored.Spec.CurrentSnapshotName, stored.Spec.PowerState = "before", vmv1alpha1.PoweredOn
			if tc.reason != "" {
				c := metav1.Condition{Type: vmv1alpha1.ConditionSnapshotSynced, Status: metav1.ConditionFalse, Reason: tc.reason, ObservedGeneration: 2}
				if tc.old {
					c.ObservedGeneration = 1
				}
				stored.Status.Conditions = []metav1.Condition{c}
			}
			updated := stored.DeepCopy()
			for _, change := range tc.changes {
				change(updated)
			}
			validate := func(who string) error {
				return a.Validate(t.Context(), admission.NewAttributesRecord(updated, stored, vmv1alpha1.SchemeGroupVersion.WithKind("VirtualMachine"), "ns", "vm",
					vmv1alpha1.SchemeGroupVersion.WithResource("virtualmachines"), "", admission.Update, nil, false, &user.DefaultInfo{Name: who}), nil)
			}
			if err := validate("controller"); err != nil {
				t.Errorf("as the controller: %v", err)
			}
			if err := validate("alice"); apierrors.IsForbidden(err) != tc.refused || err != nil && !tc.refused {
				t.Errorf("as a user: %v, want rejected %t", err, tc.refused)
			}
		})
	}
}
