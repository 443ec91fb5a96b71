// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package root_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/cmd/virtctl/verbs/drainplan"
	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/machine/drain"
	"github.com/slipway-dev/slipway/test/clitest"
)

func TestDrainPlan_ShowsTheActionForEachPod(t *testing.T) {
	named := func(name string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
	}
	m := &clusterv1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "m"}}
	m.Status.NodeRef.Name = "node-1"
	for name, tc := range map[string]struct {
		plan drain.Plan
		want string
	}{
		"no pods": {nil, "Node node-1 of machine m has no pods or does not exist.\n"},
		"pods": {
			drain.Plan{
				{Pod: named("agent"), Step: drain.Ignored, Decision: drain.Decision{By: "DaemonSet agent", Warnings: []string{"ignoring DaemonSet-managed Pod"}}},
				{Pod: named("db-0"), Step: drain.EvictLater, Decision: drain.Decision{Order: 10, By: "MachineDrainRule db"}},
				{Pod: named("x"), Step: drain.Blocked, Decision: drain.Decision{Err: errors.New("a\x1b]0;b")}},
			},
			"" +
				"NAMESPACE   POD     STEP         ORDER   DECIDED BY            NOTE\n" +
				"shop        agent   Ignored      0       DaemonSet agent       ignoring DaemonSet-managed Pod\n" +
				"shop        db-0    EvictLater   10      MachineDrainRule db   \n" +
				"shop        x       Blocked      0                             a\uFFFD]0;b\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			if err := drainplan.PrintPlan(&out, m, tc.plan); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, out.String()); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDrainPlan_RequiresAccessToTheWorkloadCluster(t *testing.T) {
	code, out, errOut := run(t, &clitest.APIServer{}, "drain-plan", "m")
	if code == 0 || out != "" || !strings.Contains(errOut, "--workload-kubeconfig is required") {
		t.Errorf("exit code %d, %q, %q", code, out, errOut)
	}
}
