// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package root_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/scheme"
	"github.com/slipway-dev/slipway/test/clitest"
)

func TestRollout_RejectsInvalidArguments(t *testing.T) {
	for want, args := range map[string][]string{
		"accepts 1 arg(s), received 0":                                {"rollout", "undo"},
		`"deployment/x" is not supported: use machinedeployment/NAME`: {"rollout", "status", "deployment/x"},
		`invalid argument "x" for "--to-revision" flag`:               {"rollout", "undo", "x", "--to-revision", "x"},
	} {
		s := &clitest.APIServer{}
		if code, _, errOut := run(t, s, args...); code == 0 || !strings.Contains(errOut, want) || len(s.Requests) != 0 {
			t.Errorf("%v: code %d, %q, requests %v; want none and %q", args, code, errOut, s.Requests, want)
		}
	}
	for _, arg := range []string{"x", "machinedeployment/x", "machinedeployments.cluster.slipway.dev/x", "md/x"} {
		if code, _, errOut := run(t, &clitest.APIServer{}, "rollout", "status", arg); code != 1 || errOut != "error: machinedeployment dev/x: not found\n" {
			t.Errorf("%s: exit code %d, %q, want that x is not found", arg, code, errOut)
		}
	}
}

func TestRollout_StatusReportsAMissingDeployment(t *testing.T) {
	code, _, errOut := run(t, &clitest.APIServer{}, "rollout", "status", "x")
	if code != 1 || !strings.Contains(errOut, "machinedeployment dev/x: not found") || strings.Contains(errOut, "gone") {
		t.Errorf("code %d, %q, want 1 and that it is not found", code, errOut)
	}
}

// rolloutServer serves a MachineDeployment and MachineSets, and stores what is written.
type rolloutServer struct {
	deployment clusterv1alpha1.MachineDeployment
	sets       []clusterv1alpha1.MachineSet
}

func (s *rolloutServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if strings.HasSuffix(r.URL.Path, "/machinesets") {
		_ = json.NewEncoder(w).Encode(clusterv1alpha1.MachineSetList{Items: s.sets})
		return
	}
	if r.Method == http.MethodPut {
		body, _ := io.ReadAll(r.Body)
		s.deployment = clusterv1alpha1.MachineDeployment{}
		if err := runtime.DecodeInto(scheme.Codecs.UniversalDeserializer(), body, &s.deployment); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
	}
	_ = json.NewEncoder(w).Encode(s.deployment)
}

// rollout runs a rollout command for the deployment.
func (s *rolloutServer) rollout(t *testing.T, args ...string) (code int, out, errOut string) {
	t.Helper()
	return runAs(t, "virtctl", "", s, append([]string{"rollout"}, append(args, "md")...)...)
}

func TestRollout_RevisionsAreThoseOfTheMachineSets(t *testing.T) {
	d := clusterv1alpha1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{Name: "md", UID: "md"}}
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
	all := []clusterv1alpha1.MachineSet{set("10", "md"), set("2", "md"), set("3", "other"), set("none", "md"), set("9", "md")}
	for number, want := range map[string]string{"0": "v9", "2": "v2", "10": "v10"} {
		s := &rolloutServer{deployment: d, sets: all}
		if code, _, errOut := s.rollout(t, "undo", "--to-revision", number); code != 0 {
			t.Fatal(errOut)
		}
		template := s.deployment.Spec.Template
		if diff := cmp.Diff(map[string]string{"app": "x"}, template.Metadata.Labels); template.Spec.Version != want || diff != "" {
			t.Errorf("revision %s is %s, want %s; labels (-want +got):\n%s", number, template.Spec.Version, want, diff)
		}
	}
	if code, _, errOut := (&rolloutServer{deployment: d, sets: all}).rollout(t, "undo", "--to-revision", "3"); code != 1 || !strings.Contains(errOut, "revision 3 not found; available: 2, 9, 10") {
		t.Errorf("revision 3: exit code %d, %s", code, errOut)
	}
	if code, _, errOut := (&rolloutServer{deployment: d, sets: all[1:2]}).rollout(t, "undo"); code != 1 || !strings.Contains(errOut, "no previous revision: the only one is 2") {
		t.Errorf("the one before the only one: exit code %d, %s", code, errOut)
	}
}

func TestRollout_StatusReportsPendingMachines(t *testing.T) {
	s := &rolloutServer{deployment: clusterv1alpha1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{Name: "md", Generation: 2}}}
	d := &s.deployment
	d.Spec.Replicas = ptr.To[int32](3)
	for _, step := range []struct {
		change func()
		want   string
	}{
		{func() {}, "waiting for the controller to observe the change"},
		{func() { d.Status.ObservedGeneration = 2 }, "0 of 3 machines exist"},
		{func() {
			d.Status.Replicas = ptr.To[int32](3)
			d.Status.Conditions = []metav1.Condition{{Type: clusterv1alpha1.RollingOutCondition, Status: metav1.ConditionTrue, Message: "Rolling out 2"}}
		}, "Rolling out 2"},
		{func() {
			d.Status.Conditions = append(d.Status.Conditions, metav1.Condition{
				Type: clusterv1alpha1.MachinesReadyCondition, Status: metav1.ConditionFalse,
				Message: "Machines a, b: * InfrastructureReady: VirtualMachineImage \"none\" does not exist\n* NodeHealthy: Waiting for a Node",
			})
		}, "Rolling out 2: Machines a, b: InfrastructureReady: VirtualMachineImage \"none\" does not exist, NodeHealthy: Waiting for a Node"},
		{func() {
			d.Status.Conditions[0] = metav1.Condition{Type: clusterv1alpha1.ScalingUpCondition, Status: metav1.ConditionTrue, Message: "MachineSet s is blocked because: T t does not exist"}
			d.Status.Conditions[1].Status = metav1.ConditionTrue
			d.Status.Replicas = ptr.To[int32](2)
		}, "2 of 3 machines exist: MachineSet s is blocked because: T t does not exist"},
		{func() {
			d.Status.Conditions[1] = metav1.Condition{Type: clusterv1alpha1.PausedCondition, Status: metav1.ConditionTrue, Message: "Cluster spec.paused is set to true"}
		}, "the rollout is paused: Cluster spec.paused is set to true"},
		{func() {
			d.Status.Conditions = []metav1.Condition{
				{Type: clusterv1alpha1.RollingOutCondition, Status: metav1.ConditionTrue, Reason: "WaitingForTemplate", Message: "Rolling out 2. MachineSet s: T t does not exist"},
				{Type: clusterv1alpha1.ScalingUpCondition, Status: metav1.ConditionTrue, Reason: "WaitingForTemplate", Message: "Scaling up. MachineSet s: T t does not exist"},
			}
		}, "Rolling out 2. MachineSet s: T t does not exist"},
		{func() { d.Status.Conditions, d.Status.Replicas = nil, ptr.To[int32](3) }, "0 of 3 machines are available"},
		{func() { d.Status.AvailableReplicas = ptr.To[int32](3) }, ""},
	} {
		step.change()
		synctest.Test(t, func(t *testing.T) {
			code, out, errOut := clitest.RunInBubble(t.Context(), t, s, "rollout", "status", "md", "--timeout=1s")
			switch {
			case step.want == "" && (code != 0 || out != "machinedeployment dev/md is rolled out\n"):
				t.Errorf("exit code %d, %q%s, want it rolled out", code, out, errOut)
			case step.want != "" && (code != 3 || !strings.HasSuffix(errOut, "(--timeout 1s): "+step.want+"\n")):
				t.Errorf("exit code %d, %q, want %q", code, errOut, step.want)
			}
		})
	}
	for _, c := range []struct {
		command, says string
		code          int
	}{{"resume", "the rollout is not paused", 1}, {"pause", "", 0}, {"pause", "the rollout is already paused", 1}, {"resume", "", 0}} {
		if code, _, errOut := s.rollout(t, c.command); code != c.code || !strings.Contains(errOut, c.says) {
			t.Errorf("%s: exit code %d, %q; what is paused is resumed, and the other way round", c.command, code, errOut)
		}
	}
}
