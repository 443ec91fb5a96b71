// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"github.com/slipway-dev/slipway/test/schema"
)

func checks(t *testing.T) Checks {
	t.Helper()
	c, err := Shipped()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// object returns an object of generation 2 with conditions such as "Ready=False".
func object(group, kind string, observed int64, conditions ...string) *unstructured.Unstructured {
	all := []any{}
	for _, c := range conditions {
		name, status, _ := strings.Cut(c, "=")
		all = append(all, map[string]any{"type": name, "status": status, "reason": name + "Reason", "message": "the message"})
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": group + "/v1alpha1", "kind": kind, "metadata": map[string]any{"name": "a", "generation": int64(2)},
		"status": map[string]any{"observedGeneration": observed, "conditions": all},
	}}
}

func TestHealth_FollowsTheConditions(t *testing.T) {
	const vm, cluster = "vm.slipway.dev", "cluster.slipway.dev"
	for name, tc := range map[string]struct {
		object *unstructured.Unstructured
		want   Health
	}{
		"new":                  {object(vm, "VirtualMachine", -1), Health{"Progressing", "The last change is not reconciled yet"}},
		"changed":              {object(vm, "VirtualMachine", 1, "Ready=True"), Health{"Progressing", "The last change is not reconciled yet"}},
		"waits":                {object(vm, "VirtualMachine", 2, "Ready=False"), Health{"Progressing", "ReadyReason: the message"}},
		"not seen":             {object(vm, "VirtualMachine", 2, "Ready=Unknown"), Health{"Progressing", "ReadyReason: the message"}},
		"ready":                {object(vm, "VirtualMachine", 2, "Ready=True"), Health{"Healthy", "the message"}},
		"ready, changing":      {object(vm, "VirtualMachine", 2, "Ready=True", "Reconciling=True"), Health{"Progressing", "ReconcilingReason: the message"}},
		"stalled":              {object(vm, "VirtualMachine", 2, "Ready=False", "Stalled=True"), Health{"Degraded", "StalledReason: the message"}},
		"paused":               {object(vm, "VirtualMachine", 2, "Ready=True", "Paused=True"), Health{"Suspended", "PausedReason: the message"}},
		"paused, changed":      {object(vm, "VirtualMachine", 1, "Ready=False", "Paused=True"), Health{"Suspended", "PausedReason: the message"}},
		"image":                {object(vm, "VirtualMachineImage", 2, "Ready=False"), Health{"Progressing", "ReadyReason: the message"}},
		"published":            {object(vm, "VirtualMachinePublishRequest", 2, "Uploaded=True", "Complete=True"), Health{"Healthy", "the message"}},
		"being published":      {object(vm, "VirtualMachinePublishRequest", 2, "Uploaded=True", "Complete=False"), Health{"Progressing", "CompleteReason: the message"}},
		"machine":              {object(cluster, "Machine", 2, "Available=False", "Ready=True", "Paused=False"), Health{"Healthy", "the message"}},
		"cluster":              {object(cluster, "Cluster", 2, "Available=False", "Paused=False"), Health{"Progressing", "AvailableReason: the message"}},
		"rollout":              {object(cluster, "MachineDeployment", 2, "Available=True", "Reconciling=True"), Health{"Progressing", "ReconcilingReason: the message"}},
		"deployment":           {object(cluster, "MachineDeployment", 2, "Available=True", "RollingOut=False"), Health{"Healthy", "the message"}},
		"set that grows":       {object(cluster, "MachineSet", 2, "ScalingUp=True"), Health{"Progressing", "ScalingUpReason: the message"}},
		"set":                  {object(cluster, "MachineSet", 2, "ScalingUp=False", "ScalingDown=False"), Health{"Healthy", ""}},
		"too many unhealthy":   {object(cluster, "MachineHealthCheck", 2, "RemediationAllowed=False", "Stalled=True"), Health{"Degraded", "StalledReason: the message"}},
		"without any status":   {&unstructured.Unstructured{Object: map[string]any{"apiVersion": "instancetype.slipway.dev/v1alpha1", "kind": "VirtualMachineInstancetype"}}, Health{"Healthy", ""}},
		"instance":             {&unstructured.Unstructured{Object: map[string]any{"apiVersion": vm + "/v1alpha1", "kind": "VirtualMachineInstance", "status": map[string]any{}}}, Health{"Healthy", ""}},
		"new zone":             {object(vm, "Zone", -1), Health{"Progressing", "The last change is not reconciled yet"}},
		"zone that is changed": {object(vm, "Zone", 1, "Ready=True"), Health{"Progressing", "The last change is not reconciled yet"}},
		"zone":                 {object(vm, "Zone", 2, "Ready=True"), Health{"Healthy", "the message"}},
		"without any messages": {&unstructured.Unstructured{Object: map[string]any{"apiVersion": vm + "/v1alpha1", "kind": "Zone", "status": map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "False"}}}}}, Health{"Progressing", "Ready"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := checks(t).Of(tc.object)
			if err != nil {
				t.Fatal(err)
			}
			if got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
}

// Flux and Argo CD users see the same health: an object that is healthy in Argo CD is current in kstatus, for all
// conditions that both evaluate.
func TestHealth_AgreesWithKstatus(t *testing.T) {
	c := checks(t)
	tried := 0
	for _, observed := range []int64{-1, 1, 2} {
		for _, ready := range []string{"True", "False", "Unknown"} {
			for _, also := range []string{"", "Reconciling=True", "Stalled=True", "Paused=False"} {
				o := object("vm.slipway.dev", "VirtualMachine", observed, "Ready="+ready, also)
				said, err := kstatus.Compute(o)
				if err != nil {
					t.Fatal(err)
				}
				if err := c.Agree(o, said); err != nil {
					t.Errorf("observed %d, Ready=%s and %q: %v", observed, ready, also, err)
				}
				tried++
			}
		}
	}
	if tried != 36 {
		t.Errorf("%d were tried", tried)
	}
	if err := c.Agree(object("vm.slipway.dev", "VirtualMachine", 2, "Ready=True"), &kstatus.Result{Status: kstatus.FailedStatus}); err == nil {
		t.Error("Healthy and Failed agree")
	}
}

func TestHealth_HasACheckForEveryKind(t *testing.T) {
	c := checks(t)
	for _, kind := range schema.Kinds {
		if _, err := c.Of(object(kind.Group, kind.Name, 2)); err != nil {
			t.Error(err)
		}
	}
	if _, err := c.Of(object("cluster.x-k8s.io", "Machine", 2)); err == nil {
		t.Error("a foreign kind has a check of Slipway")
	}
}

func TestHealth_ReportsErrorsInAScript(t *testing.T) {
	o := object("vm.slipway.dev", "Zone", 2)
	for script, want := range map[string]string{
		"return {status = 'Fine'}":       `returned "Fine", which is not a status of Argo CD`,
		"return 1":                       "returned a number, want a table",
		"return obj.status.nothing.here": "attempt to index",
		"while true do end":              "context deadline exceeded",
		"return os.getenv('HOME')":       "attempt to index",
	} {
		if _, err := (Checks{"*/*": script}).Of(o); err == nil || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%s: %v, want an error with %q", script, err, want)
		}
	}
}
