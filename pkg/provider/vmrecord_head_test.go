// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package provider_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider/vmrecord"
)

func TestHead_ChangesWithTheRecordedData(t *testing.T) {
	pinned := func(name string) *vmv1alpha1.InstancetypeRef {
		return &vmv1alpha1.InstancetypeRef{ControllerRevisionRef: &vmv1alpha1.ControllerRevisionRef{Name: name}}
	}
	for name, tc := range map[string]struct {
		change func(*vmv1alpha1.VirtualMachine)
		want   vmrecord.Age
	}{
		"nothing":               {func(*vmv1alpha1.VirtualMachine) {}, vmrecord.Same},
		"status":                {func(vm *vmv1alpha1.VirtualMachine) { vm.Status.NodeName = "esx" }, vmrecord.Same},
		"managed fields":        {func(vm *vmv1alpha1.VirtualMachine) { vm.ManagedFields, vm.ResourceVersion = nil, "100" }, vmrecord.Same},
		"a later generation":    {func(vm *vmv1alpha1.VirtualMachine) { vm.Generation++ }, vmrecord.Older},
		"an earlier generation": {func(vm *vmv1alpha1.VirtualMachine) { vm.Generation-- }, vmrecord.Newer},
		"a label":               {func(vm *vmv1alpha1.VirtualMachine) { vm.Labels["app"] = "db" }, vmrecord.Older},
		"an annotation":         {func(vm *vmv1alpha1.VirtualMachine) { vm.Annotations["note"] = "y" }, vmrecord.Older},
		"a label as annotation": {func(vm *vmv1alpha1.VirtualMachine) { vm.Annotations["app"] = "web"; delete(vm.Labels, "app") }, vmrecord.Older},
		"a pinned revision":     {func(vm *vmv1alpha1.VirtualMachine) { vm.Status.InstancetypeRef = pinned("r") }, vmrecord.Older},
		"another object":        {func(vm *vmv1alpha1.VirtualMachine) { vm.UID = "v" }, vmrecord.Absent},
		"the last applied configuration": {func(vm *vmv1alpha1.VirtualMachine) {
			vm.Annotations["kubectl.kubernetes.io/last-applied-configuration"] = "{1}"
		}, vmrecord.Same},
		"the label and the annotation of the image cache": {func(vm *vmv1alpha1.VirtualMachine) {
			vm.Labels[vmv1alpha1.LabelImageCache], vm.Annotations[vmv1alpha1.AnnotationImageCacheLocation] = "c", "x,y,"
		}, vmrecord.Same},
		"the annotation of a recovery": {func(vm *vmv1alpha1.VirtualMachine) { vm.Annotations[vmv1alpha1.AnnotationRecovered] = "1234" }, vmrecord.Same},
	} {
		before, now := machine(), machine()
		tc.change(now)
		if got := vmrecord.HeadOf(before).Compare(vmrecord.HeadOf(now)); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

func TestHead_ParsesItsOwnText(t *testing.T) {
	head := vmrecord.HeadOf(machine())
	if got := vmrecord.ParseHead(head.String()); got != head || head.Schema != vmrecord.Schema || head.Generation != 7 || head.UID != "1234" {
		t.Errorf("parsed %+v, want %+v", got, head)
	}
	for _, text := range []string{"", "x", "1/u/7", "1//7/s", "0/u/7/s", "x/u/7/s", "1/u/x/s", "1/u/-1/s", "1/u/7/s/more", strings.Repeat("1", vmrecord.MaxHead+1)} {
		if got := vmrecord.ParseHead(text); got != (vmrecord.Head{}) {
			t.Errorf("%q is parsed as %+v, want no record", text, got)
		}
	}
	if got := (vmrecord.Head{}).String(); got != "" {
		t.Errorf("the zero head has text %q", got)
	}
}

func TestRecord_RestoresALostObject(t *testing.T) {
	lost := machine()
	lost.Status.Zone = "east"
	lost.Status.InstancetypeRef = &vmv1alpha1.InstancetypeRef{Name: "u1.small", ControllerRevisionRef: &vmv1alpha1.ControllerRevisionRef{Name: "revision-1"}}
	text, err := vmrecord.Text(lost, []*itv1alpha1.ControllerRevision{revision()}, vmrecord.Groups{}, "")
	if err != nil {
		t.Fatal(err)
	}
	r, err := vmrecord.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	want := &vmv1alpha1.VirtualMachine{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "team-a", Name: "web", Generation: 7, Labels: map[string]string{"app": "web"},
			Annotations: map[string]string{"note": "x", vmv1alpha1.AnnotationRecovered: "1234"},
		},
		Spec:   lost.Spec,
		Status: vmv1alpha1.VirtualMachineStatus{Zone: "east", InstancetypeRef: lost.Status.InstancetypeRef},
	}
	again := r.Object()
	if diff := cmp.Diff(want, again); diff != "" {
		t.Errorf("object (-want +got):\n%s", diff)
	}
	again.UID = lost.UID // the server keeps the UID when an object is recovered
	if vmrecord.HeadOf(again) != vmrecord.HeadOf(lost) || !r.Describes(again) {
		t.Errorf("the head of the restored object is %s, of the lost object %s: the record would be rewritten", vmrecord.HeadOf(again), vmrecord.HeadOf(lost))
	}
	again.Labels["app"] = "db"
	if r.Describes(again) {
		t.Error("the record describes an object with other labels")
	}
}

func TestText_FailsWithoutThePinnedRevisions(t *testing.T) {
	vm := machine()
	vm.Status.PreferenceRef = &vmv1alpha1.PreferenceRef{ControllerRevisionRef: &vmv1alpha1.ControllerRevisionRef{Name: "lost"}}
	if text, err := vmrecord.Text(vm, []*itv1alpha1.ControllerRevision{revision()}, vmrecord.Groups{}, ""); err == nil || errors.Is(err, vmrecord.ErrTooLarge) || !strings.Contains(err.Error(), `"lost"`) {
		t.Errorf("text %q, error %v; want one with the revision name", text, err)
	}
}

func TestRestore_KeepsKeysThatAreNotRecorded(t *testing.T) {
	vm := machine()
	r := vmrecord.Of(vm)
	vm.Labels, vm.Annotations = map[string]string{"app": "db", "new": "x"}, map[string]string{"kubectl.kubernetes.io/last-applied-configuration": "{}", "new": "y"}
	vm.Spec.PowerState = vmv1alpha1.PoweredOff
	r.Restore(vm)
	want := map[string]string{"note": "x", "kubectl.kubernetes.io/last-applied-configuration": "{}"}
	if diff := cmp.Diff(want, vm.Annotations); diff != "" || vm.Labels["app"] != "web" || len(vm.Labels) != 1 || vm.Spec.PowerState != vmv1alpha1.PoweredOn {
		t.Errorf("labels %v, spec %+v, annotations (-want +got):\n%s", vm.Labels, vm.Spec, diff)
	}
}
