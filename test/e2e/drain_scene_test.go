// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/slipway-dev/slipway/pkg/controller/cluster/machine/drain"
	"github.com/slipway-dev/slipway/test/testenv"
)

// drainScene is a Node of the management cluster with Pods in its own namespace. There is no kubelet: a deleted Pod
// exists until the test removes it.
type drainScene struct {
	*testing.T
	client    kubernetes.Interface
	namespace string
	node      string
	in        drain.Input
	// before is called before each eviction is sent.
	before func(pod string)
}

func newDrainScene(t *testing.T, change ...func(*corev1.Node)) *drainScene {
	t.Helper()
	u := admin(t)
	name := u.Namespace
	u.Label("namespace/"+name, "team="+name)
	s := &drainScene{T: t, namespace: name, node: "node-of-" + name, before: func(string) {}}
	config := testenv.Of(t).RestConfig()
	config.QPS, config.Burst = 200, 200
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if pod, ok := strings.CutSuffix(r.URL.Path, "/eviction"); ok {
				s.before(filepath.Base(pod))
			}
			return next.RoundTrip(r)
		})
	})
	s.client = kubernetes.NewForConfigOrDie(config)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: s.node}, Spec: corev1.NodeSpec{ProviderID: "vsphere://" + name}}
	for _, c := range change {
		c(node)
	}
	status := node.Status
	node, err := s.client.CoreV1().Nodes().Create(s.Context(), node, metav1.CreateOptions{})
	s.must(err)
	node.Status.Conditions, node.Status.VolumesAttached = status.Conditions, status.VolumesAttached
	_, err = s.client.CoreV1().Nodes().UpdateStatus(s.Context(), node, metav1.UpdateOptions{})
	s.must(err)
	t.Cleanup(func() {
		ctx, now := context.WithoutCancel(t.Context()), metav1.DeleteOptions{GracePeriodSeconds: ptr.To(int64(0))}
		if err := errors.Join(s.client.CoreV1().Pods(name).DeleteCollection(ctx, now, metav1.ListOptions{}), s.client.CoreV1().Nodes().Delete(ctx, s.node, now)); err != nil {
			t.Error(err)
		}
	})

	s.in = drain.Input{Node: s.node, ProviderID: "vsphere://" + name, Started: time.Now(), Now: time.Now()}
	return s
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (s *drainScene) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// pod creates a Pod on the Node, running unless change modifies it.
func (s *drainScene) pod(name string, change ...func(*corev1.Pod)) *corev1.Pod {
	s.Helper()
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name, Labels: map[string]string{"app": name}},
		Spec: corev1.PodSpec{
			NodeName: s.node, TerminationGracePeriodSeconds: ptr.To(int64(300)),
			Containers: []corev1.Container{{Name: "c", Image: "registry.example.com/c:1"}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
	for _, c := range change {
		c(p)
	}
	status := p.Status
	p, err := s.client.CoreV1().Pods(s.namespace).Create(s.Context(), p, metav1.CreateOptions{})
	s.must(err)
	p.Status = status
	p, err = s.client.CoreV1().Pods(s.namespace).UpdateStatus(s.Context(), p, metav1.UpdateOptions{})
	s.must(err)
	return p
}

// remove removes a Pod as a kubelet does when its containers have ended.
func (s *drainScene) remove(name string) {
	s.Helper()
	s.must(s.client.CoreV1().Pods(s.namespace).Delete(s.Context(), name, metav1.DeleteOptions{GracePeriodSeconds: ptr.To(int64(0))}))
}

// budget creates a PodDisruptionBudget that allows no disruption for Pods of an app, with the status that its
// controller would set.
func (s *drainScene) budget(name, app string) {
	s.Helper()
	b := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: ptr.To(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}},
		},
	}
	b, err := s.client.PolicyV1().PodDisruptionBudgets(s.namespace).Create(s.Context(), b, metav1.CreateOptions{})
	s.must(err)
	b.Status = policyv1.PodDisruptionBudgetStatus{ObservedGeneration: b.Generation, DesiredHealthy: 1, CurrentHealthy: 1, ExpectedPods: 1}
	_, err = s.client.PolicyV1().PodDisruptionBudgets(s.namespace).UpdateStatus(s.Context(), b, metav1.UpdateOptions{})
	s.must(err)
}

// pass runs one reconcile of a drain.
func (s *drainScene) pass() drain.Result {
	s.Helper()
	s.in.Now = time.Now()
	result, err := drain.Drain(s.Context(), s.client, s.in)
	s.must(err)
	return result
}

// lines returns the lines of a message after its headline.
func lines(message string) []string { return strings.Split(message, "\n")[1:] }

// deleted reports which Pods of the drainScene are deleted.
func (s *drainScene) deleted() map[string]bool {
	s.Helper()
	list, err := s.client.CoreV1().Pods(s.namespace).List(s.Context(), metav1.ListOptions{})
	s.must(err)
	found := map[string]bool{}
	for _, p := range list.Items {
		found[p.Name] = p.DeletionTimestamp != nil
	}
	return found
}
