// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	clienttesting "k8s.io/client-go/testing"

	"github.com/slipway-dev/slipway/cmd/virtctl/cli"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/fake"
)

// removalTakes is how long a virtual machine of tried is being deleted.
const removalTakes = 3 * time.Second

// tried is a server with the virtual machine that check makes.
type tried struct {
	vm *vmv1alpha1.VirtualMachine
	// becomes changes it with the time since it was made.
	becomes func(vm *vmv1alpha1.VirtualMachine, after time.Duration)
	// refused is why it is not made, nil if it is.
	refused error
	// deleted are the UIDs that deletions were for.
	deleted     []string
	out, errOut bytes.Buffer
}

// run tries a virtual machine, and says whether something is lacking. synctest must be on.
func (s *tried) run(t *testing.T, ctx context.Context, flags tryFlags) bool {
	t.Helper()
	broken := filepath.Join(t.TempDir(), "kubeconfig") // no other server is asked
	if err := os.WriteFile(broken, []byte("]"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", broken)
	client := fake.NewSimpleClientset()
	absent := apierrors.NewNotFound(schema.GroupResource{Resource: "virtualmachines"}, "it")
	client.PrependReactor("create", "virtualmachines", func(action clienttesting.Action) (bool, kruntime.Object, error) {
		if s.refused != nil {
			return true, nil, s.refused
		}
		s.vm = action.(clienttesting.CreateAction).GetObject().(*vmv1alpha1.VirtualMachine).DeepCopy()
		s.vm.UID, s.vm.Generation, s.vm.CreationTimestamp = "uid-1", 1, metav1.Now()
		return true, s.vm.DeepCopy(), nil
	})
	client.PrependReactor("get", "virtualmachines", func(clienttesting.Action) (bool, kruntime.Object, error) {
		if s.vm == nil || s.vm.DeletionTimestamp != nil && time.Since(s.vm.DeletionTimestamp.Time) >= removalTakes {
			return true, nil, absent
		}
		got := s.vm.DeepCopy()
		if s.becomes != nil {
			s.becomes(got, time.Since(got.CreationTimestamp.Time))
		}
		return true, got, nil
	})
	client.PrependReactor("delete", "virtualmachines", func(action clienttesting.Action) (bool, kruntime.Object, error) {
		s.deleted = append(s.deleted, string(*action.(clienttesting.DeleteActionImpl).DeleteOptions.Preconditions.UID))
		now := metav1.Now()
		s.vm.DeletionTimestamp = &now
		return true, nil, nil
	})
	flags.vm.Image = "photon-5"
	if flags.timeout == 0 {
		flags.timeout = time.Minute
	}
	vm, err := flags.machine()
	if err != nil {
		t.Fatal(err)
	}
	c := &check{f: cli.NewFactory(genericclioptions.NewConfigFlags(true), genericiooptions.IOStreams{Out: &s.out, ErrOut: &s.errOut}), try: flags}
	(&trial{check: c, vms: client.VmV1alpha1().VirtualMachines("dev"), vm: vm, what: "virtualmachine dev/" + vm.Name}).run(ctx)
	return c.lacking
}

// is sets a condition of the virtual machine as of a time after it was made.
func is(vm *vmv1alpha1.VirtualMachine, kind string, status metav1.ConditionStatus, reason, message string, after time.Duration) {
	meta.SetStatusCondition(&vm.Status.Conditions, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: message, ObservedGeneration: 1, LastTransitionTime: metav1.NewTime(vm.CreationTimestamp.Add(after)),
	})
}

// succeeds is made in 5 seconds.
func succeeds(vm *vmv1alpha1.VirtualMachine, after time.Duration) {
	vm.Status.Zone, vm.Status.PrintableStatus = "east", "Creating"
	is(vm, vmv1alpha1.ConditionPlacementReady, metav1.ConditionTrue, "Succeeded", "", time.Second)
	if after < 5*time.Second {
		return
	}
	vm.Status.PowerState = vm.Spec.PowerState
	for _, kind := range []string{vmv1alpha1.ConditionConfigurationSynced, vmv1alpha1.ConditionCreated, vmv1alpha1.ConditionPowerStateSynced, vmv1alpha1.ConditionReady} {
		is(vm, kind, metav1.ConditionTrue, "Succeeded", "", 5*time.Second)
	}
}

func (s *tried) says(t *testing.T, out *bytes.Buffer, texts ...string) {
	t.Helper()
	told := out.String()
	if s.vm != nil {
		told = strings.ReplaceAll(told, s.vm.Name, "VM")
	}
	for _, text := range texts {
		if !strings.Contains(told, text) {
			t.Errorf("it does not say %q:\n%s", text, told)
		}
	}
	if out == &s.out && s.vm != nil && !slices.Equal(s.deleted, []string{"uid-1"}) {
		t.Errorf("deleted are %q, want what was made, once", s.deleted)
	}
}

func TestATriedVirtualMachineIsMadeAndRemovedAndEachStepIsTimed(t *testing.T) {
	for name, c := range map[string]struct {
		flags tryFlags
		state vmv1alpha1.PowerState
	}{"powered off": {tryFlags{}, vmv1alpha1.PoweredOff}, "powered on": {tryFlags{powerOn: true}, vmv1alpha1.PoweredOn}} {
		synctest.Test(t, func(t *testing.T) {
			s := &tried{becomes: succeeds}
			if s.run(t, t.Context(), c.flags) {
				t.Errorf("%s: something is lacking", name)
			}
			s.says(t, &s.out, "ok       virtualmachine dev/VM is there in zone east, after 6s: placed after 1s, created in vSphere after 5s, configured after 5s, "+string(c.state)+" after 5s\n",
				"ok       virtualmachine dev/VM was removed after 4s\n")
			s.says(t, &s.errOut, "virtualmachine dev/VM: Creating\n", "removing virtualmachine dev/VM: ")
			if vm := s.vm; vm.Spec.PowerState != c.state || vm.Spec.CPU.Sockets != 1 || vm.Spec.Memory.Guest.String() != tryMemory || vm.Labels[tryLabel] != tryValue {
				t.Errorf("%s: it was %+v", name, vm)
			}
		})
	}
}

func TestATriedVirtualMachineThatFailsIsRemovedAndSaysWhy(t *testing.T) {
	for want, c := range map[string]struct {
		becomes func(*vmv1alpha1.VirtualMachine, time.Duration)
		timeout time.Duration
	}{
		"MISSING  virtualmachine dev/VM is not made: ImageReady: there is no image\n": {becomes: func(vm *vmv1alpha1.VirtualMachine, _ time.Duration) {
			is(vm, vmv1alpha1.ConditionImageReady, metav1.ConditionFalse, vmv1alpha1.ReasonNotFound, "there is no image", 0)
		}},
		"MISSING  virtualmachine dev/VM is not made: Stalled: too large\n": {becomes: func(vm *vmv1alpha1.VirtualMachine, _ time.Duration) {
			is(vm, vmv1alpha1.ConditionStalled, metav1.ConditionTrue, vmv1alpha1.ReasonInvalid, "too large", 0)
		}},
		"MISSING  a virtual machine is not made (--timeout 4.5s): virtualmachine dev/VM: Creating\n": {becomes: succeeds, timeout: 4500 * time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &tried{becomes: c.becomes}
			if !s.run(t, t.Context(), tryFlags{timeout: c.timeout}) {
				t.Errorf("nothing is lacking, want %q", want)
			}
			s.says(t, &s.out, want, "ok       virtualmachine dev/VM was removed after 4s\n")
		})
	}
}

func TestATriedVirtualMachineThatRefersToWhatComesLateIsMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &tried{becomes: func(vm *vmv1alpha1.VirtualMachine, after time.Duration) {
			if after < 9*time.Second {
				is(vm, vmv1alpha1.ConditionImageReady, metav1.ConditionFalse, vmv1alpha1.ReasonNotFound, "there is no image", 0)
				return
			}
			succeeds(vm, after)
		}}
		if s.run(t, t.Context(), tryFlags{}) {
			t.Errorf("something is lacking:\n%s", s.out.String())
		}
	})
}

func TestATriedVirtualMachineIsRemovedWhenItIsInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, interrupt := context.WithCancel(t.Context())
		time.AfterFunc(3*time.Second, interrupt)
		s := &tried{becomes: succeeds}
		if !s.run(t, ctx, tryFlags{}) {
			t.Error("nothing is lacking")
		}
		s.says(t, &s.out, "MISSING  a virtual machine is not made (interrupted): virtualmachine dev/VM: Creating\n", "ok       virtualmachine dev/VM was removed after 4s\n")
		s.says(t, &s.errOut, "interrupted: virtualmachine dev/VM is removed first; interrupted once more it is left there\n")
	})
}

func TestWhatIsNotMadeIsNotRemovedNorWhatOthersMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &tried{refused: apierrors.NewForbidden(schema.GroupResource{Resource: "virtualmachines"}, "it", nil)}
		if !s.run(t, t.Context(), tryFlags{}) {
			t.Error("nothing is lacking")
		}
		s.says(t, &s.out, "MISSING  making virtualmachine dev/")
		s.vm = &vmv1alpha1.VirtualMachine{ObjectMeta: metav1.ObjectMeta{Name: "theirs", UID: "uid-2"}}
		if s.run(t, t.Context(), tryFlags{}); len(s.deleted) > 0 || strings.Contains(s.out.String(), "removed") {
			t.Errorf("deleted are %q:\n%s", s.deleted, s.out.String())
		}
	})
}

func TestTheSmallestImageThatIsReadyIsTried(t *testing.T) {
	image := func(name, disk string, kind vmv1alpha1.ImageType, ready metav1.ConditionStatus) *vmv1alpha1.VirtualMachineImage {
		i := &vmv1alpha1.VirtualMachineImage{ObjectMeta: metav1.ObjectMeta{Name: name}}
		i.Status.Type = kind
		i.Status.Conditions = []metav1.Condition{{Type: vmv1alpha1.ConditionReady, Status: ready, Reason: "Why"}}
		if disk != "" {
			q := resource.MustParse(disk)
			i.Status.Disks = []vmv1alpha1.VirtualMachineImageDisk{{Capacity: &q}}
		}
		return i
	}
	absent, cd := image("absent", "1Gi", vmv1alpha1.ImageTypeOVF, metav1.ConditionFalse), image("cd", "1Gi", vmv1alpha1.ImageTypeISO, metav1.ConditionTrue)
	large, small := image("large", "20Gi", vmv1alpha1.ImageTypeOVF, metav1.ConditionTrue), image("small", "2Gi", vmv1alpha1.ImageTypeTemplate, metav1.ConditionTrue)
	unclear := image("unclear", "", vmv1alpha1.ImageTypeVMTX, metav1.ConditionTrue)
	for want, all := range map[string][]*vmv1alpha1.VirtualMachineImage{
		"small": {absent, cd, unclear, large, small}, "large": {large, unclear, absent}, "unclear": {unclear}, "": {absent, cd},
	} {
		got := ""
		if i := smallestImage(all); i != nil {
			got = i.Name
		}
		if got != want {
			t.Errorf("of %d images %q is tried, want %q", len(all), got, want)
		}
	}
}

func TestCheckTriesNothingWithoutAnInstallationOrTheRights(t *testing.T) {
	served := map[string]string{vmAPI: "", instancetypeAPI: "", clusterAPI: ""}
	for want, c := range map[string]struct {
		cluster checkedCluster
		args    []string
	}{
		"MISSING  no virtual machine is tried: Slipway is not installed, or not available\n":           {checkedCluster{aggregation: true}, []string{"--try"}},
		"MISSING  no virtual machine is tried: you may not delete virtualmachines in namespace prod\n": {checkedCluster{aggregation: true, apis: served, refused: []string{"delete virtualmachines"}}, []string{"--try", "-n", "prod"}},
		"MISSING  no virtual machine is tried: there is no namespace nowhere\n":                        {checkedCluster{aggregation: true, apis: served}, []string{"--try", "-n", "nowhere"}},
		"error: --image goes with --try\n":                                                             {checkedCluster{}, []string{"--image=photon-5"}},
		"error: --class and --instancetype exclude each other\n":                                       {checkedCluster{}, []string{"--try", "--class=a", "--instancetype=b"}},
		"error: --timeout 0s: must be more than 0s\n":                                                  {checkedCluster{}, []string{"--try", "--timeout=0s"}},
	} {
		if code, out, errOut := c.cluster.check(t, c.args...); code != 1 || !strings.Contains(out+errOut, want) {
			t.Errorf("%v: exit %d, want %q:\n%s%s", c.args, code, want, out, errOut)
		}
	}
}
