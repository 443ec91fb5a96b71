// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/test/clitest"
)

func TestRolloutSaysWhatIsWrongWithItsArguments(t *testing.T) {
	for want, args := range map[string][]string{
		"accepts 1 arg(s), received 0":                  {"rollout", "undo"},
		`"deployment/x": only machinedeployment/NAME`:   {"rollout", "status", "deployment/x"},
		`invalid argument "x" for "--to-revision" flag`: {"rollout", "undo", "x", "--to-revision", "x"},
	} {
		s := &clitest.APIServer{}
		if code, _, errOut := run(t, s, args...); code == 0 || !strings.Contains(errOut, want) || len(s.Requests) != 0 {
			t.Errorf("%v: code %d, %q, requests %v; want none and %q", args, code, errOut, s.Requests, want)
		}
	}
	for _, arg := range []string{"x", "machinedeployment/x", "machinedeployments.cluster.slipway.dev/x", "md/x"} {
		if name, err := deploymentName(arg); name != "x" || err != nil {
			t.Errorf("%s is %q (%v), want x", arg, name, err)
		}
	}
}

func TestRolloutStatusOfWhatNeverWasSaysThatItIsNotFound(t *testing.T) {
	code, _, errOut := run(t, &clitest.APIServer{}, "rollout", "status", "x")
	if code != 1 || !strings.Contains(errOut, "machinedeployment dev/x: not found") || strings.Contains(errOut, "gone") {
		t.Errorf("code %d, %q, want 1 and that it is not found", code, errOut)
	}
}

func TestRevisionsAreThoseOfTheSets(t *testing.T) {
	d := &clusterv1alpha1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{Name: "md", UID: "md"}}
	set := func(revision, owner string) clusterv1alpha1.MachineSet {
		s := clusterv1alpha1.MachineSet{ObjectMeta: metav1.ObjectMeta{Name: "set-" + revision, Annotations: map[string]string{clusterv1alpha1.RevisionAnnotation: revision}}}
		s.OwnerReferences = []metav1.OwnerReference{{Kind: "MachineDeployment", Name: "md", UID: d.UID, Controller: ptr.To(true)}}
		if owner != "md" {
			s.OwnerReferences[0].UID = "other"
		}
		s.Spec.Template.Metadata.Labels = map[string]string{"app": "x", clusterv1alpha1.MachineDeploymentUniqueLabel: "hash"}
		s.Spec.Template.Spec.Version = "v" + revision
		return s
	}
	all := revisions(d, []clusterv1alpha1.MachineSet{set("10", "md"), set("2", "md"), set("3", "other"), set("none", "md"), set("9", "md")})
	for number, want := range map[int64]string{0: "v9", 2: "v2", 10: "v10"} {
		got, err := revisionAt(all, number)
		if err != nil {
			t.Fatal(err)
		}
		template := got.template()
		if diff := cmp.Diff(map[string]string{"app": "x"}, template.Metadata.Labels); template.Spec.Version != want || diff != "" {
			t.Errorf("revision %d is %s, want %s; labels (-want +got):\n%s", number, template.Spec.Version, want, diff)
		}
	}
	if _, err := revisionAt(all, 3); err == nil || !strings.Contains(err.Error(), "kept are 2, 9, 10") {
		t.Errorf("revision 3: %v", err)
	}
	if _, err := revisionAt(all[:1], 0); err == nil || !strings.Contains(err.Error(), "no revision before the last one") {
		t.Errorf("the one before the only one: %v", err)
	}
}

func TestRolloutStatusTellsWhatIsLeft(t *testing.T) {
	d := &clusterv1alpha1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{Generation: 2}}
	d.Spec.Replicas = ptr.To[int32](3)
	for _, step := range []struct {
		change func()
		want   string
	}{
		{func() {}, "waiting for the controller to see the change"},
		{func() { d.Status.ObservedGeneration = 2 }, "0 of 3 machines are there"},
		{func() {
			d.Status.Replicas = ptr.To[int32](3)
			d.Status.Conditions = []metav1.Condition{{Type: clusterv1alpha1.RollingOutCondition, Status: metav1.ConditionTrue, Message: "Rolling out 2"}}
		}, "Rolling out 2"},
		{func() { d.Status.Conditions[0].Status = metav1.ConditionFalse }, "0 of 3 machines are available"},
		{func() { d.Status.AvailableReplicas = ptr.To[int32](3) }, ""},
	} {
		step.change()
		if got := unrolled(d); got != step.want {
			t.Errorf("%q, want %q", got, step.want)
		}
	}
	if pause(d, false) == nil || pause(d, true) != nil || pause(d, true) == nil || pause(d, false) != nil {
		t.Error("what is paused is resumed, and the other way round")
	}
}
