// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"net/http"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// failsWith reports whether the condition is False and its message contains text.
func failsWith(req *provider.Request, conditionType, text string) func() bool {
	return func() bool {
		c := meta.FindStatusCondition(req.VM.Status.Conditions, conditionType)
		return c != nil && c.Reason == vmv1alpha1.ReasonError && strings.Contains(c.Message, text)
	}
}

func TestCreate_ReportsAFullDatastoreWithTheSizeOfTheCopy(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	f := datastoreOf(t, ready)
	f.createDisk(cachedDisk)
	p, _ := startProvider(t, ready, nil)
	l := newLoop(t, p)
	control(t, ready, http.MethodPut, "/datastores/free?datastore=LocalDS_0&bytes=0")
	req := fastRequest("web", vmv1alpha1.FastDeployDirect, cacheOf(f))
	l.until("the create fails", failsWith(req, vmv1alpha1.ConditionCreated, "NoDiskSpace"), req)
	message := meta.FindStatusCondition(req.VM.Status.Conditions, vmv1alpha1.ConditionCreated).Message
	for _, want := range []string{"copying disk " + cachedDisk + " (16Gi) to [LocalDS_0] ", "datastore LocalDS_0 has too little free space"} {
		if !strings.Contains(message, want) {
			t.Errorf("the condition is %q, want %q in it", message, want)
		}
	}
	for _, other := range []string{"spec.cpu", "spec.firmware"} {
		if strings.Contains(message, other) {
			t.Errorf("the condition names %s: %q", other, message)
		}
	}
	control(t, ready, http.MethodPut, "/datastores/free?datastore=LocalDS_0&bytes=109951162777600")
	l.until("the VM runs", isRunning(req), req)
}

func TestRefusedConfiguration_IsReportedByFieldAndValue(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	const prefix = `spec.guestID "1": reconfiguring vm-`
	for name, image := range map[string]*vmv1alpha1.VirtualMachineImage{"library": libraryImage(), "clone": templateImage()} {
		t.Run("changed, "+name, func(t *testing.T) {
			p, _ := startProvider(t, ready, nil)
			l := newLoop(t, p)
			req := newRequest("changed-"+name, image)
			req.VM.Spec.PowerState = vmv1alpha1.PoweredOff
			l.until("the VM is configured", func() bool { return isTrue(&req.VM.Status, vmv1alpha1.ConditionConfigurationSynced) }, req)
			req.Effective.GuestID = "1"
			l.until("the condition names the field", failsWith(req, vmv1alpha1.ConditionConfigurationSynced, prefix), req)
			req.Effective.GuestID = "otherLinux64Guest"
			l.until("the VM has the corrected value", func() bool { return isTrue(&req.VM.Status, vmv1alpha1.ConditionConfigurationSynced) }, req)
			l.remove(req)
		})
		t.Run("created, "+name, func(t *testing.T) {
			p, _ := startProvider(t, ready, nil)
			l := newLoop(t, p)
			req := newRequest("made-"+name, image)
			req.Effective.GuestID = "1"
			l.until("the condition names the field", failsWith(req, vmv1alpha1.ConditionCreated, `spec.guestID "1"`), req)
			l.remove(req)
		})
	}
}
