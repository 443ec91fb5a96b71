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

	"github.com/slipway-dev/slipway/cmd/slipway-apiserver/app"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/test/integration/framework"
)

// key is a protected key.
const key = "vm.slipway.dev.protected/skip-delete-platform-resource"

// startWithOperator starts a server that has the privileged user operator.
func startWithOperator(t *testing.T) *framework.Server {
	t.Helper()
	return framework.StartStandaloneIn(t, t.TempDir(), func(o *app.Options) { o.PrivilegedUsers = []string{"operator"} })
}

func TestProtectedKeys_AreReservedForPrivilegedUsers(t *testing.T) {
	s := startWithOperator(t)
	patches := map[string]string{
		"set an annotation":    `{"metadata":{"annotations":{"` + key + `":"1"}}}`,
		"change an annotation": `{"metadata":{"annotations":{"x.protected/kept":"2"}}}`,
		"remove an annotation": `{"metadata":{"annotations":{"x.protected/kept":null}}}`,
		"set a label":          `{"metadata":{"labels":{"` + key + `":"1"}}}`,
	}
	for name, patch := range patches {
		t.Run(name, func(t *testing.T) {
			vm := inlineVM("")
			vm.GenerateName = "protected-"
			vm.Annotations = map[string]string{"x.protected/kept": "1"}
			vm = createVM(t, s.Client(t), vm)
			apply := func(user string) error {
				vms := framework.Client(t, s.ConfigFor(user)).VmV1alpha1().VirtualMachines(namespace)
				_, err := vms.Patch(t.Context(), vm.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
				return err
			}
			if err := apply("alice"); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), ".protected/") {
				t.Errorf("as an ordinary user: %v, want Forbidden that names the key", err)
			}
			if err := apply("operator"); err != nil {
				t.Errorf("as a privileged user: %v", err)
			}
		})
	}
	t.Run("keys that stay refuse nothing", func(t *testing.T) {
		vm := inlineVM("stays")
		vm.Annotations = map[string]string{key: "1"}
		createVM(t, s.Client(t), vm)
		vms := framework.Client(t, s.ConfigFor("alice")).VmV1alpha1().VirtualMachines(namespace)
		if _, err := vms.Patch(t.Context(), "stays", types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{}); err != nil {
			t.Error(err)
		}
	})
	t.Run("a lost virtual machine is recreated", func(t *testing.T) {
		const lost = "6d0c1e5c-8a3f-4f0e-9b1a-1f0a2c9d7e55"
		again := func(user string) (*vmv1alpha1.VirtualMachine, error) {
			vm := inlineVM("lost")
			vm.Generation, vm.Annotations = 7, map[string]string{vmv1alpha1.AnnotationRecovered: lost}
			vm.Status.UniqueID, vm.Status.Zone, vm.Status.Phase = "vm-7", "east", vmv1alpha1.PhaseRunning
			return framework.Client(t, s.ConfigFor(user)).VmV1alpha1().VirtualMachines(namespace).Create(t.Context(), vm, metav1.CreateOptions{})
		}
		if _, err := again("alice"); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), vmv1alpha1.AnnotationRecovered) {
			t.Errorf("by an ordinary user: %v, want Forbidden that names the annotation", err)
		}
		vm, err := again("operator")
		if err != nil {
			t.Fatal(err)
		}
		if st := vm.Status; vm.UID != lost || vm.Generation != 7 || st.UniqueID != "vm-7" || st.Zone != "east" || st.Phase != "" {
			t.Errorf("UID %s, generation %d, status %+v; want those of the lost object, and the part of status that identifies its VM", vm.UID, vm.Generation, st)
		}
	})
	t.Run("creation by an ordinary user", func(t *testing.T) {
		vm := inlineVM("created")
		vm.Annotations = map[string]string{key: "1"}
		_, err := framework.Client(t, s.ConfigFor("alice")).VmV1alpha1().VirtualMachines(namespace).Create(t.Context(), vm, metav1.CreateOptions{})
		if !apierrors.IsForbidden(err) {
			t.Errorf("answer %v, want Forbidden", err)
		}
	})
}

func TestProtectedKeys_AreEnforcedForEveryVerb(t *testing.T) {
	s := startWithOperator(t)
	patch := `{"metadata":{"annotations":{"` + key + `":"1"},"labels":{"` + key + `":"1"}}}`
	t.Run("server-side apply", func(t *testing.T) {
		vms := framework.Client(t, s.ConfigFor("alice")).VmV1alpha1().VirtualMachines(namespace)
		body := `{"apiVersion":"vm.slipway.dev/v1alpha1","kind":"VirtualMachine","metadata":{"name":"%s","annotations":{"` + key + `":"1"}},` +
			`"spec":{"cpu":{"sockets":1},"memory":{"guest":"1Gi"}}}`
		createVM(t, s.Client(t), inlineVM("applied"))
		force := true
		for _, name := range []string{"applied", "applied-new"} {
			_, err := vms.Patch(t.Context(), name, types.ApplyPatchType, fmt.Appendf(nil, body, name), metav1.PatchOptions{FieldManager: "alice", Force: &force})
			if !apierrors.IsForbidden(err) {
				t.Errorf("%s: answer %v, want Forbidden", name, err)
			}
		}
	})
	t.Run("the status endpoint", func(t *testing.T) {
		createVM(t, s.Client(t), inlineVM("status"))
		vms := framework.Client(t, s.ConfigFor("alice")).VmV1alpha1().VirtualMachines(namespace)
		if _, err := vms.Patch(t.Context(), "status", types.MergePatchType, []byte(patch), metav1.PatchOptions{}, "status"); !apierrors.IsForbidden(err) {
			t.Errorf("answer %v, want Forbidden: status is written by privileged users only", err)
		}
		got, err := vms.Get(t.Context(), "status", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := got.Annotations[key]; ok {
			t.Error("a protected annotation was set by way of status")
		}
	})
	t.Run("adopting a VM of vSphere", func(t *testing.T) {
		for user, forbidden := range map[string]bool{"alice": true, "operator": false} {
			vm := inlineVM("adopted-by-" + user)
			vm.Spec.InstanceUUID = "b18a6a7c-2b29-4a16-b1d8-dd4649826d8f"
			_, err := framework.Client(t, s.ConfigFor(user)).VmV1alpha1().VirtualMachines(namespace).Create(t.Context(), vm, metav1.CreateOptions{})
			if apierrors.IsForbidden(err) != forbidden || !forbidden && err != nil {
				t.Errorf("as %s: answer %v, want Forbidden: %t", user, err, forbidden)
			}
		}
	})
	t.Run("every kind", func(t *testing.T) {
		it := createClusterInstancetype(t, s.Client(t), "small", 1, "1Gi")
		its := framework.Client(t, s.ConfigFor("alice")).InstancetypeV1alpha1().VirtualMachineClusterInstancetypes()
		_, err := its.Patch(t.Context(), it.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		if !apierrors.IsForbidden(err) {
			t.Errorf("answer %v, want Forbidden", err)
		}
	})
}
