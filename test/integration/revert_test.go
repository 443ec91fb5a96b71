// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/test/integration/framework"
)

// A revert that was requested by mistake would start when a snapshot with that name is created.
func TestRevert_ToAMissingSnapshotIsRejected(t *testing.T) {
	c := framework.StartStandalone(t).Client(t)
	vms := c.VmV1alpha1().VirtualMachines(namespace)
	createVM(t, c, inlineVM("web"))
	for name, of := range map[string]string{"before": "web", "other": "db"} {
		s := &vmv1alpha1.VirtualMachineSnapshot{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: vmv1alpha1.VirtualMachineSnapshotSpec{VMName: of}}
		if _, err := c.VmV1alpha1().VirtualMachineSnapshots(namespace).Create(t.Context(), s, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	ask := func(name, more string) error {
		_, err := vms.Patch(t.Context(), "web", types.MergePatchType, fmt.Appendf(nil, `{"spec":{"currentSnapshotName":%q%s}}`, name, more), metav1.PatchOptions{})
		return err
	}
	for name, want := range map[string]string{
		"befor": `spec.currentSnapshotName: Not found: "befor"`,
		"other": `spec.currentSnapshotName: Invalid value: "other": is a snapshot of VirtualMachine "db"`,
	} {
		if err := ask(name, ""); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("a revert to %s: %v, want %q", name, err, want)
		}
	}
	if err := ask("before", ""); err != nil {
		t.Errorf("a revert to a snapshot: %v", err)
	}
	if err := c.VmV1alpha1().VirtualMachineSnapshots(namespace).Delete(t.Context(), "before", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := ask("before", `,"guestID":"otherGuest64"`); err != nil {
		t.Errorf("another change, as a privileged user, while the revert is asked for: %v", err)
	}
	if err := ask("", ""); err != nil {
		t.Errorf("taking it back: %v", err)
	}
	made := inlineVM("new")
	made.Spec.CurrentSnapshotName = "later"
	if _, err := vms.Create(t.Context(), made, metav1.CreateOptions{}); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "spec.currentSnapshotName: Forbidden: a new VirtualMachine has no snapshots") {
		t.Errorf("a new VirtualMachine that requests a revert: %v, want that it is refused", err)
	}
	lost := inlineVM("recovered")
	lost.Spec.CurrentSnapshotName = "later"
	lost.Generation = 1
	lost.Annotations = map[string]string{vmv1alpha1.AnnotationRecovered: string(uuid.NewUUID())}
	createVM(t, c, lost)
}
