// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// saying is true when the condition has failed, and tells of the field.
func saying(req *provider.Request, kind, text string) func() bool {
	return func() bool {
		c := meta.FindStatusCondition(req.VM.Status.Conditions, kind)
		return c != nil && c.Reason == vmv1alpha1.ReasonError && strings.Contains(c.Message, text)
	}
}

func TestWhatVSphereRefusesIsNamedByItsFieldAndValue(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	const said = `spec.guestID "1": reconfiguring vm-`
	for name, image := range map[string]*vmv1alpha1.VirtualMachineImage{"library": libraryImage(), "clone": templateImage()} {
		t.Run("changed, "+name, func(t *testing.T) {
			p, _ := startProvider(t, ready, nil)
			l := newLoop(t, p)
			req := newRequest("changed-"+name, image)
			req.VM.Spec.PowerState = vmv1alpha1.PoweredOff
			l.until("the VM is there", func() bool { return isTrue(&req.VM.Status, vmv1alpha1.ConditionConfigurationSynced) }, req)
			req.Effective.GuestID = "1"
			l.until("the condition names the field", saying(req, vmv1alpha1.ConditionConfigurationSynced, said), req)
			req.Effective.GuestID = "otherLinux64Guest"
			l.until("the VM has what is right", func() bool { return isTrue(&req.VM.Status, vmv1alpha1.ConditionConfigurationSynced) }, req)
			l.remove(req)
		})
		t.Run("made, "+name, func(t *testing.T) {
			p, _ := startProvider(t, ready, nil)
			l := newLoop(t, p)
			req := newRequest("made-"+name, image)
			req.Effective.GuestID = "1"
			l.until("the condition names the field", saying(req, vmv1alpha1.ConditionCreated, `spec.guestID "1"`), req)
			l.remove(req)
		})
	}
}
