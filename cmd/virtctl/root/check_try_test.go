// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package root_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/slipway-dev/slipway/pkg/apis/scheme"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/test/clitest"
)

// photon names the image of most trials.
const photon = "--image=photon-5"

// removalTakes is how long a virtual machine of tried is being deleted.
const removalTakes = 3 * time.Second

// tried is a cluster with Slipway, and the virtual machine that check creates in namespace dev.
type tried struct {
	checkedCluster
	vm *vmv1alpha1.VirtualMachine
	// becomes changes it with the time since it was made.
	becomes func(vm *vmv1alpha1.VirtualMachine, after time.Duration)
	// refused is true if it is not made.
	refused bool
	// deleted are the UIDs that deletions were for.
	deleted     []string
	images      []vmv1alpha1.VirtualMachineImage
	out, errOut string
}

func (s *tried) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer := func(object any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(object)
	}
	refuse := func(code int, reason metav1.StatusReason) {
		w.WriteHeader(code)
		answer(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Reason: reason, Code: int32(code)})
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	const vms = clitest.APIPrefix + "dev/virtualmachines"
	switch {
	case r.URL.Path == "/api/v1/namespaces/dev":
		answer(map[string]any{"metadata": map[string]any{"name": "dev"}})
	case r.URL.Path == clitest.APIPrefix+"dev/virtualmachineimages":
		answer(vmv1alpha1.VirtualMachineImageList{Items: s.images})
	case strings.HasSuffix(r.URL.Path, "/clustervirtualmachineimages"):
		answer(vmv1alpha1.ClusterVirtualMachineImageList{})
	case r.URL.Path == vms:
		vm := &vmv1alpha1.VirtualMachine{}
		if err := runtime.DecodeInto(scheme.Codecs.UniversalDeserializer(), body, vm); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		switch {
		case r.URL.Query().Has("dryRun"):
		case s.refused:
			refuse(http.StatusForbidden, metav1.StatusReasonForbidden)
			return
		default:
			vm.UID, vm.Generation, vm.CreationTimestamp = "uid-1", 1, metav1.Now()
			s.vm = vm.DeepCopy()
		}
		answer(vm)
	case !strings.HasPrefix(r.URL.Path, vms+"/"):
		s.checkedCluster.ServeHTTP(w, r)
	case s.vm == nil || s.vm.DeletionTimestamp != nil && time.Since(s.vm.DeletionTimestamp.Time) >= removalTakes:
		refuse(http.StatusNotFound, metav1.StatusReasonNotFound)
	case r.Method == http.MethodDelete:
		options := &metav1.DeleteOptions{}
		if err := runtime.DecodeInto(scheme.Codecs.UniversalDeserializer(), body, options); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		s.deleted = append(s.deleted, string(*options.Preconditions.UID))
		now := metav1.Now()
		s.vm.DeletionTimestamp = &now
		answer(s.vm)
	default:
		got := s.vm.DeepCopy()
		if s.becomes != nil {
			s.becomes(got, time.Since(got.CreationTimestamp.Time))
		}
		answer(got)
	}
}

// run runs check --try and reports whether a requirement is not met. synctest must be on.
func (s *tried) run(ctx context.Context, t *testing.T, flags ...string) bool {
	t.Helper()
	s.aggregation, s.apis = true, map[string]string{vmAPI: "", instancetypeAPI: "", clusterAPI: ""}
	code, out, errOut := clitest.RunInBubble(ctx, t, s, append([]string{"check", "--try", "--timeout=1m"}, flags...)...)
	s.out, s.errOut = out, errOut
	return code != 0
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

func (s *tried) says(t *testing.T, told string, texts ...string) {
	t.Helper()
	if s.vm != nil {
		told = strings.ReplaceAll(told, s.vm.Name, "VM")
	}
	for _, text := range texts {
		if !strings.Contains(told, text) {
			t.Errorf("it does not say %q:\n%s", text, told)
		}
	}
	if s.vm != nil && !slices.Equal(s.deleted, []string{"uid-1"}) {
		t.Errorf("deleted are %q, want what was made, once", s.deleted)
	}
}

func TestCheckTry_CreatesAndDeletesAVMAndTimesEachStep(t *testing.T) {
	for name, c := range map[string]struct {
		flags []string
		state vmv1alpha1.PowerState
	}{"powered off": {nil, vmv1alpha1.PoweredOff}, "powered on": {[]string{"--power-on"}, vmv1alpha1.PoweredOn}} {
		synctest.Test(t, func(t *testing.T) {
			s := &tried{becomes: succeeds}
			if s.run(t.Context(), t, append(c.flags, photon)...) {
				t.Errorf("%s: something is lacking", name)
			}
			s.says(t, s.out, "ok       virtualmachine dev/VM was created in zone east after 6s: placed after 1s, created in vSphere after 5s, configured after 5s, "+string(c.state)+" after 5s\n",
				"ok       virtualmachine dev/VM was deleted after 4s\n")
			s.says(t, s.errOut, "virtualmachine dev/VM: Creating\n", "deleting virtualmachine dev/VM: ")
			if vm := s.vm; vm.Spec.PowerState != c.state || vm.Spec.CPU.Sockets != 1 || vm.Spec.Memory.Guest.String() != "1Gi" || vm.Labels["app.kubernetes.io/managed-by"] != "virtctl-check" {
				t.Errorf("%s: it was %+v", name, vm)
			}
		})
	}
}

func TestCheckTry_DeletesAVMThatFailsAndReportsTheReason(t *testing.T) {
	for want, c := range map[string]struct {
		becomes func(*vmv1alpha1.VirtualMachine, time.Duration)
		flags   []string
	}{
		"MISSING  virtualmachine dev/VM was not created: ImageReady: there is no image\n": {becomes: func(vm *vmv1alpha1.VirtualMachine, _ time.Duration) {
			is(vm, vmv1alpha1.ConditionImageReady, metav1.ConditionFalse, vmv1alpha1.ReasonNotFound, "there is no image", 0)
		}},
		"MISSING  virtualmachine dev/VM was not created: Stalled: too large\n": {becomes: func(vm *vmv1alpha1.VirtualMachine, _ time.Duration) {
			is(vm, vmv1alpha1.ConditionStalled, metav1.ConditionTrue, vmv1alpha1.ReasonInvalid, "too large", 0)
		}},
		"MISSING  the virtual machine was not created (--timeout 4.5s): virtualmachine dev/VM: Creating\n": {becomes: succeeds, flags: []string{"--timeout=4.5s"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &tried{becomes: c.becomes}
			if !s.run(t.Context(), t, append(c.flags, photon)...) {
				t.Errorf("nothing is lacking, want %q", want)
			}
			s.says(t, s.out, want, "ok       virtualmachine dev/VM was deleted after 4s\n")
		})
	}
}

func TestCheckTry_WaitsForReferencedObjectsThatAppearLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &tried{becomes: func(vm *vmv1alpha1.VirtualMachine, after time.Duration) {
			if after < 9*time.Second {
				is(vm, vmv1alpha1.ConditionImageReady, metav1.ConditionFalse, vmv1alpha1.ReasonNotFound, "there is no image", 0)
				return
			}
			succeeds(vm, after)
		}}
		if s.run(t.Context(), t, photon) {
			t.Errorf("something is lacking:\n%s", s.out)
		}
	})
}

func TestCheckTry_DeletesTheVMWhenInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, interrupt := context.WithCancel(t.Context())
		time.AfterFunc(3*time.Second, interrupt)
		s := &tried{becomes: succeeds}
		if !s.run(ctx, t, photon) {
			t.Error("nothing is lacking")
		}
		s.says(t, s.out, "MISSING  the virtual machine was not created (interrupted): virtualmachine dev/VM: Creating\n", "ok       virtualmachine dev/VM was deleted after 4s\n")
		s.says(t, s.errOut, "interrupted: deleting virtualmachine dev/VM; interrupt again to leave it\n")
	})
}

func TestCheckTry_DeletesOnlyTheVMThatItCreated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &tried{refused: true}
		if !s.run(t.Context(), t, photon) {
			t.Error("nothing is lacking")
		}
		s.says(t, s.out, "MISSING  creating virtualmachine dev/")
		s.vm = &vmv1alpha1.VirtualMachine{ObjectMeta: metav1.ObjectMeta{Name: "theirs", UID: "uid-2"}}
		if s.run(t.Context(), t, photon); len(s.deleted) > 0 || strings.Contains(s.out, "removed") {
			t.Errorf("deleted are %q:\n%s", s.deleted, s.out)
		}
	})
}

func TestCheckTry_UsesTheSmallestReadyImage(t *testing.T) {
	image := func(name, disk string, kind vmv1alpha1.ImageType, ready metav1.ConditionStatus) vmv1alpha1.VirtualMachineImage {
		i := vmv1alpha1.VirtualMachineImage{ObjectMeta: metav1.ObjectMeta{Name: name}}
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
	for want, all := range map[string][]vmv1alpha1.VirtualMachineImage{
		"small": {absent, cd, unclear, large, small}, "large": {large, unclear, absent}, "unclear": {unclear}, "": {absent, cd},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &tried{becomes: succeeds, images: all}
			lacking, got := s.run(t.Context(), t), ""
			if s.vm != nil {
				got = s.vm.Spec.Image.Name
			}
			if got != want || lacking != (want == "") {
				t.Errorf("of %d images %q is tried, want %q:\n%s", len(all), got, want, s.out)
			}
		})
	}
}

func TestCheckTry_IsSkippedWithoutAnInstallationOrPermissions(t *testing.T) {
	served := map[string]string{vmAPI: "", instancetypeAPI: "", clusterAPI: ""}
	for want, c := range map[string]struct {
		cluster checkedCluster
		args    []string
	}{
		"MISSING  --try skipped: Slipway is not installed or not available\n":                          {checkedCluster{aggregation: true}, []string{"--try"}},
		"MISSING  --try skipped: you have no permission to delete virtualmachines in namespace prod\n": {checkedCluster{aggregation: true, apis: served, refused: []string{"delete virtualmachines"}}, []string{"--try", "-n", "prod"}},
		"MISSING  --try skipped: namespace nowhere not found\n":                                        {checkedCluster{aggregation: true, apis: served}, []string{"--try", "-n", "nowhere"}},
		"error: --image requires --try\n":                                                              {checkedCluster{}, []string{"--image=photon-5"}},
		"error: --class and --instancetype are mutually exclusive\n":                                   {checkedCluster{}, []string{"--try", "--class=a", "--instancetype=b"}},
		"error: --timeout 0s: must be more than 0s\n":                                                  {checkedCluster{}, []string{"--try", "--timeout=0s"}},
	} {
		if code, out, errOut := c.cluster.check(t, c.args...); code != 1 || !strings.Contains(out+errOut, want) {
			t.Errorf("%v: exit %d, want %q:\n%s%s", c.args, code, want, out, errOut)
		}
	}
}
