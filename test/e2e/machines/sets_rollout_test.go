// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machines

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// template has the deployment use another one.
func (s *setScene) template(name string) {
	s.Helper()
	s.u.Patch("machinedeployment/workers", fmt.Sprintf(`{"spec":{"template":{"spec":{"infrastructureRef":{"name":%q}}}}}`, name))
}

// sizes are the instance types of the virtual machines.
func (s *setScene) sizes() string {
	s.Helper()
	sizes := strings.Fields(s.get("vm", ".items[*].spec.instancetype.name"))
	slices.Sort(sizes)
	return strings.Join(sizes, " ")
}

func TestADeploymentFromNoneToFiveToAnotherTemplateToTwo(t *testing.T) {
	s := newSetScene(t)
	s.u.Meets("InfrastructureReady", "clusters.cluster.slipway.dev/c")
	s.wants("clusters.cluster.slipway.dev/c", ".spec.controlPlaneEndpoint.host", "192.0.2.10")
	s.wants("clusters.cluster.slipway.dev/c", ".status.failureDomains[*].name", "default")
	s.apply(workers(0, ""))
	s.available(0)

	t.Log("from none to five")
	s.kubectl("scale", "machinedeployment/workers", "--replicas=5")
	s.available(5)
	s.u.Meets("Available", "machinedeployment/workers")
	if got := s.sizes(); got != "small small small small small" {
		t.Errorf("virtual machines are %s", got)
	}
	m := s.machines()[0]
	if owner, machine := s.get("vm/"+m, ".metadata.ownerReferences[0].uid"), s.get("machine/"+m, ".metadata.uid"); owner != machine {
		t.Errorf("virtual machine %s is owned by %s, want its Machine %s", m, owner, machine)
	}

	t.Log("rolled to another template, and the server killed during the rollout")
	before := s.machines()
	s.mostMachines()
	s.template("large")
	s.wants("machinedeployment/workers", `.status.conditions[?(@.type=="RollingOut")].status`, "True")
	s.Kill()
	s.available(5)
	s.wants("machinedeployment/workers", `.status.conditions[?(@.type=="RollingOut")].status`, "False")
	if got := s.sizes(); got != "large large large large large" {
		t.Errorf("virtual machines are %s", got)
	}
	for _, name := range s.machines() {
		if slices.Contains(before, name) {
			t.Errorf("Machine %s has survived", name)
		}
	}
	if n := s.mostMachines(); n > 6 {
		t.Errorf("there were %d Machines at a time, want at most 5 and 1 more", n)
	}
	if got := s.get("machinedeployment/workers", `.metadata.annotations.machinedeployment\.clusters\.x-k8s\.io/revision`); got != "2" {
		t.Errorf("revision is %s, want 2", got)
	}

	s.downAndBack()
	s.pausedAndLeftAlone()

	t.Log("all of it goes with the Cluster")
	s.u.Delete("clusters.cluster.slipway.dev/c")
	for _, kind := range []string{"machinedeployments", "machinesets", "machines", "vm", "slipwayclusters"} {
		if left := s.kubectl("get", kind, "-o", "name"); left != "" {
			t.Errorf("left of the Cluster: %s", left)
		}
	}
}

func (s *setScene) downAndBack() {
	t := s.T
	t.Log("down to two, and back to the previous template")
	s.kubectl("scale", "machinedeployment/workers", "--replicas=2")
	s.available(2)
	if history := s.virtctl("rollout", "history", "machinedeployment/workers"); !strings.Contains(history, "1         ") || !strings.Contains(history, "virtualmachinetemplate/large") {
		t.Errorf("the history is\n%s", history)
	}
	s.virtctl("rollout", "undo", "machinedeployment/workers")
	s.virtctl("rollout", "status", "machinedeployment/workers", "--timeout=240s")
	s.available(2)
	if got := s.sizes(); got != "small small" {
		t.Errorf("virtual machines are %s", got)
	}
	s.wants("machinedeployment/workers", `.metadata.annotations.machinedeployment\.clusters\.x-k8s\.io/revision`, "3")
	if sets := strings.Fields(s.kubectl("get", "machinesets", "-o", "name")); len(sets) != 2 {
		t.Errorf("MachineSets are %s, want the previous one and one more", sets)
	}
}

func (s *setScene) pausedAndLeftAlone() {
	t := s.T
	t.Log("paused, it does not roll")
	s.virtctl("rollout", "pause", "machinedeployment/workers")
	s.template("large")
	s.kubectl("scale", "machinedeployment/workers", "--replicas=3")
	s.wants("machinedeployment/workers", ".status.availableReplicas", "3")
	if got := s.sizes(); got != "small small small" {
		t.Errorf("virtual machines are %s", got)
	}

	t.Log("a finished rollout is not changed, not even by another process")
	s.wants("machinedeployment/workers", `.status.conditions[?(@.type=="ScalingUp")].status`, "False")
	s.wants("machinedeployment/workers", `.status.conditions[?(@.type=="Available")].status`, "True")
	versions := func() string {
		return s.get("machinedeployment/workers", ".metadata.resourceVersion") + " " +
			s.kubectl("get", "machinesets", "-l", "cluster.x-k8s.io/deployment-name=workers", "-o", "jsonpath={.items[*].metadata.resourceVersion}")
	}
	was := versions()
	s.Kill()
	s.apply(strings.ReplaceAll(workers(0, ""), "workers", "others"))
	s.wants("machinedeployment/others", ".status.observedGeneration", "1")
	s.wants("machinesets", `.items[?(@.metadata.labels.pool=="others")].status.observedGeneration`, "1")
	if is := versions(); is != was {
		t.Errorf("resource versions are %s, want %s as before", is, was)
	}
}

func TestAMachineWhoseNodeIsSilentIsReplaced(t *testing.T) {
	s := newSetScene(t)
	s.apply(workers(2, ""))
	s.available(2)
	s.apply(`
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
	s.wants("machinehealthcheck/workers", ".status.currentHealthy", "2")
	sick := s.machines()[0]
	s.Must(pair.Work.SetReady(t.Context(), s.Namespace+"-"+sick, "Unknown"))
	s.Eventually("Machine "+sick+" is deleted", func() error {
		_, err := s.API.ClusterV1alpha1().Machines(s.Namespace).Get(t.Context(), sick, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(err, errors.New(s.picture()))
	})
	s.available(2)
	if slices.Contains(s.machines(), sick) {
		t.Errorf("Machine %s is back", sick)
	}
	s.wants("machinehealthcheck/workers", ".status.currentHealthy", "2")

	t.Log("MachineSets stay although the host's garbage collector does not know them yet")
	s.Kill()
	s.apply(strings.ReplaceAll(workers(0, ""), "workers", "kept"))
	s.wants("machinesets", `.items[?(@.metadata.labels.pool=="kept")].status.observedGeneration`, "1")
	s.kubectl("delete", "machinedeployment/kept", "--cascade=orphan", "--timeout=240s")
	if left := s.get("machinesets", `.items[?(@.metadata.labels.pool=="kept")]['metadata.name','metadata.ownerReferences']`); !strings.HasPrefix(left, "kept-") || strings.Contains(left, "uid") {
		t.Errorf("MachineSets are %q after the deployment has gone, want one without owners", left)
	}
	s.kubectl("delete", "machinesets", "-l", "pool=kept", "--timeout=240s")

	t.Log("the recreated deployment adopts the kept Machines")
	kept := s.machines()
	s.kubectl("delete", "machinedeployment/workers", "--cascade=orphan", "--timeout=240s")
	s.kubectl("scale", "machinesets", "-l", "pool=workers", "--replicas=2")
	s.apply(workers(2, ""))
	s.available(2)
	if got := s.machines(); !slices.Equal(got, kept) {
		t.Errorf("Machines are %s, want %s as before", got, kept)
	}
	s.kubectl("delete", "machinedeployment/workers", "--cascade=foreground", "--timeout=240s")
	// The host's garbage collector lets the deployment go before the rest as long as it has not
	// seen, after the restarts of the server, whose the MachineSet is now.
	s.Eventually("nothing is left of the deployment", func() error {
		if left := s.kubectl("get", "machines,vm", "-o", "name"); left != "" {
			return errors.New(left)
		}
		return nil
	})
}
