// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/ptr"

	"github.com/slipway-dev/slipway/cmd/virtctl/root"
	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
)

// The plan lists Pods that a disruption budget or a rule blocks.
func TestVirtctlDrainPlan_ShowsWhatADrainWillDo(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.WorkNamespace()
	s.machine("m")
	s.join("m")
	s.Guarded("guarded", s.Node("m"))
	_, err := s.Work.AddPod(t.Context(), s.Namespace, "last", s.Node("m"))
	s.Must(err)
	_, err = s.API.ClusterV1alpha1().MachineDrainRules(s.Namespace).Create(t.Context(), &clusterv1alpha1.MachineDrainRule{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "rule"},
		Spec: clusterv1alpha1.MachineDrainRuleSpec{
			Drain: clusterv1alpha1.MachineDrainRuleDrainConfig{Behavior: clusterv1alpha1.MachineDrainRuleDrainBehaviorDrain, Order: ptr.To(int32(10))},
			Pods:  []clusterv1alpha1.MachineDrainRulePodSelector{{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "last"}}}},
		},
	}, metav1.CreateOptions{})
	s.Must(err)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	s.Must(os.WriteFile(file, s.Work.Kubeconfig(), 0o600))
	var out, errOut bytes.Buffer
	code := root.Main(t.Context(), []string{"virtctl", "--kubeconfig=" + s.Host.AdminKubeconfig, "--namespace=" + s.Namespace, "drain-plan", "m", "--workload-kubeconfig=" + file},
		genericclioptions.NewConfigFlags(true), genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errOut})
	var rows [][]string
	for line := range strings.Lines(out.String()) {
		rows = append(rows, strings.Fields(line)[1:4])
	}
	want := [][]string{{"POD", "STEP", "ORDER"}, {"guarded", "EvictNow", "0"}, {"last", "EvictLater", "10"}}
	if diff := cmp.Diff(want, rows); code != 0 || diff != "" {
		t.Errorf("exit code %d, %s, rows (-want +got):\n%s", code, errOut.String(), diff)
	}
	if want := "The disruption budget guarded needs 1 healthy pods"; !strings.Contains(out.String(), want) {
		t.Errorf("output without %q:\n%s", want, out.String())
	}
}
