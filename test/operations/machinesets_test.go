// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	"strings"
	"testing"

	"github.com/slipway-dev/slipway/test/testenv"
)

func TestMachineDeployment_ContinuesAfterTheServerIsKilled(t *testing.T) {
	s := testenv.NewMachineSets(t)
	s.Put(testenv.Workers(3, ""))
	s.Available(3)

	t.Log("killed while it rolls out another template")
	s.MostMachines()
	s.UseTemplate("large")
	s.Wants("machinedeployment/workers", `.status.conditions[?(@.type=="RollingOut")].status`, "True")
	s.KillSlipway()
	s.Available(3)
	s.Wants("machinedeployment/workers", `.status.conditions[?(@.type=="RollingOut")].status`, "False")
	if got := s.Sizes(); got != "large large large" {
		t.Errorf("virtual machines are %s", got)
	}
	if n := s.MostMachines(); n > 4 {
		t.Errorf("there were %d Machines at a time, want at most 3 and 1 more", n)
	}

	t.Log("a new process changes nothing that is finished")
	s.Wants("machinedeployment/workers", `.status.conditions[?(@.type=="ScalingUp")].status`, "False")
	s.Meets("Available", "machinedeployment/workers")
	versions := func() string {
		return s.Get("machinedeployment/workers", ".metadata.resourceVersion") + " " +
			s.Get("machinesets", `.items[?(@.metadata.labels.pool=="workers")].metadata.resourceVersion`)
	}
	before := versions()
	s.KillSlipway()
	s.Put(strings.ReplaceAll(testenv.Workers(0, ""), "workers", "kept"))
	s.Wants("machinedeployment/kept", ".status.observedGeneration", "1")
	s.Wants("machinesets", `.items[?(@.metadata.labels.pool=="kept")].status.observedGeneration`, "1")
	if got := versions(); got != before {
		t.Errorf("resource versions are %s, want %s as before", got, before)
	}

	t.Log("MachineSets stay although the garbage collector does not know them yet")
	s.Kubectl("delete", "machinedeployment/kept", "--cascade=orphan")
	if left := s.Get("machinesets", `.items[?(@.metadata.labels.pool=="kept")]['metadata.name','metadata.ownerReferences']`); !strings.HasPrefix(left, "kept-") || strings.Contains(left, "uid") {
		t.Errorf("MachineSets are %q after the deployment was deleted, want one without owners", left)
	}
}
