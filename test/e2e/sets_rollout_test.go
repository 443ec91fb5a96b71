// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/test/testenv"
)

// setScene is a Cluster with MachineDeployments. Its tests name kinds with their group, because the test process may
// also know the kinds of Cluster API from another test.
type setScene struct{ *testenv.MachineSets }

func newSetScene(t *testing.T) *setScene {
	t.Helper()
	return &setScene{testenv.NewMachineSets(t)}
}

func TestMachineDeployment_ScalesRollsAndIsRolledBack(t *testing.T) {
	t.Parallel()
	s := newSetScene(t)
	s.Meets("InfrastructureReady", "clusters.cluster.slipway.dev/c")
	s.Wants("clusters.cluster.slipway.dev/c", ".spec.controlPlaneEndpoint.host", "192.0.2.10")
	s.Wants("clusters.cluster.slipway.dev/c", ".status.failureDomains[*].name", "default")
	s.Put(testenv.Workers(0, ""))
	s.Available(0)

	t.Log("from none to five")
	s.Kubectl("scale", "machinedeployment/workers", "--replicas=5")
	s.Available(5)
	s.Meets("Available", "machinedeployment/workers")
	if got := s.Sizes(); got != "small small small small small" {
		t.Errorf("virtual machines are %s", got)
	}
	m := s.Machines()[0]
	if owner, machine := s.Get("vm/"+m, ".metadata.ownerReferences[0].uid"), s.Get("machines.cluster.slipway.dev/"+m, ".metadata.uid"); owner != machine {
		t.Errorf("virtual machine %s is owned by %s, want its Machine %s", m, owner, machine)
	}

	t.Log("rolled to another template")
	before := s.Machines()
	s.MostMachines()
	s.UseTemplate("large")
	s.Wants("machinedeployment/workers", `.status.conditions[?(@.type=="RollingOut")].status`, "True")
	s.Available(5)
	s.Wants("machinedeployment/workers", `.status.conditions[?(@.type=="RollingOut")].status`, "False")
	if got := s.Sizes(); got != "large large large large large" {
		t.Errorf("virtual machines are %s", got)
	}
	for _, name := range s.Machines() {
		if slices.Contains(before, name) {
			t.Errorf("Machine %s has survived", name)
		}
	}
	if n := s.MostMachines(); n > 6 {
		t.Errorf("there were %d Machines at a time, want at most 5 and 1 more", n)
	}
	if got := s.Get("machinedeployment/workers", `.metadata.annotations.machinedeployment\.clusters\.x-k8s\.io/revision`); got != "2" {
		t.Errorf("revision is %s, want 2", got)
	}

	s.downAndBack()
	s.paused()

	t.Log("all of it goes with the Cluster")
	s.Delete("clusters.cluster.slipway.dev/c")
	for _, kind := range []string{"machinedeployments", "machinesets", "machines.cluster.slipway.dev", "vm", "slipwayclusters"} {
		if left := s.Kubectl("get", kind, "-o", "name"); left != "" {
			t.Errorf("left of the Cluster: %s", left)
		}
	}
}

func (s *setScene) downAndBack() {
	t := s.T
	t.Log("down to two, and back to the previous template")
	s.Kubectl("scale", "machinedeployment/workers", "--replicas=2")
	s.Available(2)
	if history := s.Virtctl("rollout", "history", "machinedeployment/workers"); !strings.Contains(history, "1         ") || !strings.Contains(history, "virtualmachinetemplate/large") {
		t.Errorf("the history is\n%s", history)
	}
	s.Virtctl("rollout", "undo", "machinedeployment/workers")
	s.Virtctl("rollout", "status", "machinedeployment/workers", "--timeout=240s")
	s.Available(2)
	if got := s.Sizes(); got != "small small" {
		t.Errorf("virtual machines are %s", got)
	}
	s.Wants("machinedeployment/workers", `.metadata.annotations.machinedeployment\.clusters\.x-k8s\.io/revision`, "3")
	if sets := strings.Fields(s.Kubectl("get", "machinesets", "-o", "name")); len(sets) != 2 {
		t.Errorf("MachineSets are %s, want the previous one and one more", sets)
	}
}

func (s *setScene) paused() {
	t := s.T
	t.Log("paused, it does not roll")
	s.Virtctl("rollout", "pause", "machinedeployment/workers")
	s.UseTemplate("large")
	s.Kubectl("scale", "machinedeployment/workers", "--replicas=3")
	s.Wants("machinedeployment/workers", ".status.availableReplicas", "3")
	if got := s.Sizes(); got != "small small small" {
		t.Errorf("virtual machines are %s", got)
	}
}

func TestMachineHealthCheck_ReplacesAMachineWithASilentNode(t *testing.T) {
	t.Parallel()
	s := newSetScene(t)
	s.Put(testenv.Workers(2, ""))
	s.Available(2)
	s.Put(`
apiVersion: cluster.slipway.dev/v1alpha1
kind: MachineHealthCheck
metadata: {name: workers}
spec:
  clusterName: c
  selector: {matchLabels: {pool: workers}}
  checks:
    unhealthyNodeConditions:
    - {type: Ready, status: Unknown, timeoutSeconds: 1}
  remediation: {triggerIf: {unhealthyLessThanOrEqualTo: 1}}
`)
	s.Wants("machinehealthcheck/workers", ".status.currentHealthy", "2")
	sick := s.Machines()[0]
	s.Must(s.Work.SetReady(t.Context(), s.Node(sick), "Unknown"))
	s.Eventually("Machine "+sick+" is deleted", func() error {
		_, err := s.API.ClusterV1alpha1().Machines(s.Namespace).Get(t.Context(), sick, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(err, errors.New(s.Overview()))
	})
	s.Available(2)
	if slices.Contains(s.Machines(), sick) {
		t.Errorf("Machine %s is back", sick)
	}
	s.Wants("machinehealthcheck/workers", ".status.currentHealthy", "2")

	t.Log("the recreated deployment adopts the kept Machines")
	kept := s.Machines()
	s.Kubectl("delete", "machinedeployment/workers", "--cascade=orphan", "--timeout=240s")
	s.Kubectl("scale", "machinesets", "-l", "pool=workers", "--replicas=2")
	s.Put(testenv.Workers(2, ""))
	s.Available(2)
	if got := s.Machines(); !slices.Equal(got, kept) {
		t.Errorf("Machines are %s, want %s as before", got, kept)
	}
	s.Kubectl("delete", "machinedeployment/workers", "--cascade=foreground", "--timeout=240s")
	// The garbage collector may delete the deployment first, if it has not seen the new owner of the MachineSet.
	s.Eventually("nothing is left of the deployment", func() error {
		if left := s.Kubectl("get", "machines.cluster.slipway.dev,vm", "-o", "name"); left != "" {
			return errors.New(left)
		}
		return nil
	})
}
