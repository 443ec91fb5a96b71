// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package availability

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	vmclient "github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/typed/vm/v1alpha1"
	"github.com/slipway-dev/slipway/test/vcenter"
)

// withoutFlags removes the vCenter flags from the options of an environment.
var withoutFlags = []string{"--vcenter-url=", "--vcenter-ca-file=", "--vcenter-credentials-file="}

// vcenters returns a client of VCenter objects.
func (s *scene) vcenters() vmclient.VCenterInterface {
	s.Helper()
	return s.client(s.RestConfig()).VmV1alpha1().VCenters()
}

// describe applies the VCenter example with the address of the simulated vCenter.
func (s *scene) describe() {
	s.Helper()
	example, err := os.ReadFile("../../artifacts/examples/vcenter.yaml")
	if err != nil {
		s.Fatal(err)
	}
	v := s.VCenter()
	here := strings.NewReplacer("https://vcenter.example.com/sdk", v.URL, "00:11:22:33:44:55:66:77:88:99:AA:BB:CC:DD:EE:FF:00:11:22:33", v.Thumbprint,
		"slipway@vsphere.local", v.Username, "change-me", v.Password).Replace(string(example))
	if err := s.Apply(s.Context(), []byte(here)); err != nil {
		s.Fatal(err)
	}
}

// change changes the spec of the VCenter.
func (s *scene) change(change func(*vmv1alpha1.VCenterSpec)) {
	s.Helper()
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		vc, err := s.vcenters().Get(s.Context(), "default", metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(&vc.Spec)
		_, err = s.vcenters().Update(s.Context(), vc, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		s.Fatal(err)
	}
}

// awaitCondition waits until a condition of the VCenter has a reason for the current generation.
func (s *scene) awaitCondition(kind, reason string) *vmv1alpha1.VCenter {
	s.Helper()
	var vc *vmv1alpha1.VCenter
	s.eventually("the condition "+kind+" of the VCenter has reason "+reason, func() (err error) {
		if vc, err = s.vcenters().Get(s.Context(), "default", metav1.GetOptions{}); err != nil {
			return err
		}
		if c := meta.FindStatusCondition(vc.Status.Conditions, kind); c == nil || c.Reason != reason || c.ObservedGeneration != vc.Generation || vc.Status.ObservedGeneration != vc.Generation {
			return fmt.Errorf("generation %d, observed %d, conditions %+v", vc.Generation, vc.Status.ObservedGeneration, vc.Status.Conditions)
		}
		return nil
	})
	return vc
}

// password changes the password in the Secret.
func (s *scene) password(password string) {
	s.Helper()
	host, err := kubernetes.NewForConfig(s.RestConfig())
	if err != nil {
		s.Fatal(err)
	}
	patch := fmt.Sprintf(`{"stringData":{"password":%q}}`, password)
	if _, err := host.CoreV1().Secrets("slipway-system").Patch(s.Context(), "vcenter", types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		s.Fatal(err)
	}
}

// A server that was started without a vCenter is configured without a restart: with a vCenter, another password, other
// certificates and an invalid vCenter.
func TestVCenter_FollowsItsObject(t *testing.T) {
	t.Parallel()
	s := newScene(t, withoutFlags...)
	pid := s.PID(slipway)
	s.apply("first")
	vms := s.client(s.RestConfig()).VmV1alpha1().VirtualMachines(namespace)
	s.eventually("the virtual machine reports that no vCenter exists", func() error {
		vm, err := vms.Get(s.Context(), "first", metav1.GetOptions{})
		if err != nil {
			return err
		}
		c := meta.FindStatusCondition(vm.Status.Conditions, vmv1alpha1.ConditionCreated)
		if c == nil || c.Status != metav1.ConditionUnknown || !strings.Contains(c.Message, `VCenter "default" does not exist`) {
			return fmt.Errorf("Created is %+v", c)
		}
		return nil
	})

	s.describe()
	s.ready("first")
	s.eventually("the status contains session and inventory", func() error {
		st := s.awaitCondition("Ready", vmv1alpha1.ReasonSucceeded).Status
		if st.Session == nil || st.Session.UserName != s.VCenter().Username || st.Session.LoginTime.IsZero() ||
			st.Inventory == nil || st.Inventory.VirtualMachines != 1 || st.Version == "" || st.APIVersion == "" || st.InstanceUUID == "" {
			return fmt.Errorf("status %+v", st)
		}
		return nil
	})

	s.password("not this one")
	s.order(http.MethodPost, "/sessions/drop", nil)
	s.awaitCondition("Connected", vmv1alpha1.ReasonLoginRefused)
	s.password(s.VCenter().Password)
	s.awaitCondition("Ready", vmv1alpha1.ReasonSucceeded)

	s.change(func(spec *vmv1alpha1.VCenterSpec) { spec.Thumbprint = strings.Repeat("00", 20) })
	s.awaitCondition("Connected", vmv1alpha1.ReasonUntrusted)
	s.change(func(spec *vmv1alpha1.VCenterSpec) { spec.Thumbprint = s.VCenter().Thumbprint })
	s.awaitCondition("Ready", vmv1alpha1.ReasonSucceeded)
	s.make("second")

	s.refusesAnother()
	s.make("third")
	if now := s.PID(slipway); now != pid {
		t.Errorf("the server was restarted: process %d, and %d at the start", now, pid)
	}
	s.goesWhenItIsEmpty("first", "second", "third")
}

// refusesAnother sets the URL of another installation and checks that the server does not log in there.
func (s *scene) refusesAnother() {
	s.Helper()
	other, err := vcenter.Start(s.Context(), vcenter.Options{StateDir: s.TempDir(), Username: s.VCenter().Username, Password: s.VCenter().Password})
	if err != nil {
		s.Fatal(err)
	}
	defer func() {
		if err := other.Stop(s.Context()); err != nil {
			s.Error(err)
		}
	}()
	s.change(func(spec *vmv1alpha1.VCenterSpec) {
		spec.URL, spec.Thumbprint = other.Ready().URL, other.Ready().Thumbprint
	})
	s.awaitCondition("Connected", vmv1alpha1.ReasonOtherVCenter)
	if calls := other.Front().Calls(); calls["Login"] != 0 || calls["RetrieveServiceContent"] == 0 {
		s.Errorf("the other vCenter received %v", calls)
	}
	s.change(func(spec *vmv1alpha1.VCenterSpec) {
		spec.URL, spec.Thumbprint = s.VCenter().URL, s.VCenter().Thumbprint
	})
	s.awaitCondition("Ready", vmv1alpha1.ReasonSucceeded)
}

// goesWhenItIsEmpty deletes the VCenter, and then the virtual machines that block its deletion.
func (s *scene) goesWhenItIsEmpty(names ...string) {
	s.Helper()
	if err := s.vcenters().Delete(s.Context(), "default", metav1.DeleteOptions{}); err != nil {
		s.Fatal(err)
	}
	s.awaitCondition("Deleting", vmv1alpha1.ReasonInUse)
	s.ready(names...)
	for _, name := range names {
		if err := s.client(s.RestConfig()).VmV1alpha1().VirtualMachines(namespace).Delete(s.Context(), name, metav1.DeleteOptions{}); err != nil {
			s.Fatal(err)
		}
	}
	s.awaitVCenterDeleted()
}

// awaitVCenterDeleted waits until the VCenter is deleted.
func (s *scene) awaitVCenterDeleted() {
	s.Helper()
	s.eventually("the VCenter is deleted", func() error {
		vc, err := s.vcenters().Get(s.Context(), "default", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err == nil {
			err = fmt.Errorf("conditions %+v", vc.Status.Conditions)
		}
		return err
	})
}

// The flags define the vCenter while no VCenter object does.
func TestVCenter_ObjectOverridesTheFlags(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.make("first")
	vms := s.client(s.RestConfig()).VmV1alpha1().VirtualMachines(namespace)
	before, err := vms.Get(t.Context(), "first", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s.describe()
	s.awaitCondition("Ready", vmv1alpha1.ReasonSucceeded)
	s.make("second")
	if err := s.vcenters().Delete(t.Context(), "default", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.awaitVCenterDeleted()
	s.make("third")
	s.ready("first", "second")
	after, err := vms.Get(t.Context(), "first", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if before.Status.UniqueID != after.Status.UniqueID || before.Status.UniqueID == "" {
		t.Errorf("the VM is %q now and was %q", after.Status.UniqueID, before.Status.UniqueID)
	}
}

// First the password is changed in vCenter, then a session ends, then the Secret is updated.
func TestVCenter_PasswordIsRotatedWhileVMsRun(t *testing.T) {
	t.Parallel()
	s := newScene(t, withoutFlags...)
	pid := s.PID(slipway)
	s.describe()
	s.make("first", "second")
	effects := s.effects()

	s.order(http.MethodPut, "/password?to=rotated", nil)
	s.powerOff(s.client(s.RestConfig()), "second")
	s.eventually("the server logs in again", func() error {
		if s.calls("PowerOffVM_Task") == effects["PowerOffVM_Task"] {
			return errors.New("nothing was powered off")
		}
		return nil
	})
	effects = s.effects()
	s.order(http.MethodPost, "/sessions/drop", nil)
	s.awaitCondition("Connected", vmv1alpha1.ReasonLoginRefused)
	s.password("rotated")
	s.awaitCondition("Ready", vmv1alpha1.ReasonSucceeded)
	s.ready("first")
	if diff := cmp.Diff(effects, s.effects()); diff != "" {
		t.Errorf("VMs were changed because of the password (-before +after):\n%s", diff)
	}
	var lockout struct{ Locked []string }
	if s.order(http.MethodGet, "/lockout", &lockout); len(lockout.Locked) != 0 {
		t.Errorf("locked accounts: %v", lockout.Locked)
	}
	s.make("third")
	if now := s.PID(slipway); now != pid {
		t.Errorf("the server was restarted: process %d, and %d at the start", now, pid)
	}
}
