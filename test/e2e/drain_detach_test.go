// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/pkg/controller/cluster/machine/detach"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/machine/drain"
	"github.com/slipway-dev/slipway/test/workloadcluster"
)

// claiming makes a Pod use the claim of a volume.
func (s *drainScene) claiming(name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: s.namespace + "-" + name},
		}}}
	}
}

// TestVolumeDetach_IsWaitedFor tests MB142-144 on one Node.
func TestVolumeDetach_IsWaitedFor(t *testing.T) {
	t.Parallel()
	s := newDrainScene(t, ready(corev1.ConditionTrue), func(n *corev1.Node) {
		n.Status.VolumesAttached = []corev1.AttachedVolume{{Name: "kubernetes.io/csi/x^1"}}
	})
	for _, name := range []string{"web", "agent"} {
		workloadcluster.AttachVolume(t, s.client, s.namespace, s.namespace+"-"+name, s.node)
	}
	s.pod("agent", s.daemonSet(), s.claiming("agent"))
	s.pod("web", s.claiming("web"))
	check := func(want ...string) {
		t.Helper()
		got, err := detach.Check(t.Context(), s.client, s.in)
		s.must(err)
		if len(want) == 0 {
			if diff := cmp.Diff(drain.Result{Done: true}, got); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
			return
		}
		if diff := cmp.Diff(want, lines(got.Message)); diff != "" || got.Done {
			t.Errorf("done %v, message (-want +got):\n%s", got.Done, diff)
		}
	}
	claims := "* PersistentVolumeClaims: " + s.namespace + "/" + s.namespace + "-web"
	unknown := "* Node with .status.volumesAttached entries not matching a PersistentVolume: kubernetes.io/csi/x^1"
	check(claims, unknown)
	s.pass() // deletes the Pod, which holds its volume until it has ended
	check(claims, unknown)
	s.remove("web")
	check(claims, unknown)
	s.must(s.client.StorageV1().VolumeAttachments().Delete(t.Context(), s.namespace+"-web", metav1.DeleteOptions{}))
	check(unknown)
	node, err := s.client.CoreV1().Nodes().Get(t.Context(), s.node, metav1.GetOptions{})
	s.must(err)
	node.Status.VolumesAttached = nil
	_, err = s.client.CoreV1().Nodes().UpdateStatus(t.Context(), node, metav1.UpdateOptions{})
	s.must(err)
	check()
}
