// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	"github.com/slipway-dev/slipway/test/localcluster"
	"github.com/slipway-dev/slipway/test/workloadcluster"
)

// patience is much longer than any step of a Machine takes, even during a build.
const patience = 4 * time.Minute

// Scene is a namespace for a test of Machines, with the Secret of Cluster "c", whose API is the workload cluster. The
// test creates Nodes, as kubelets do.
type Scene struct {
	*testing.T
	User
	Host *localcluster.Cluster
	Work *workloadcluster.Cluster
	// API and Core are clients of an administrator of the management cluster.
	API  versioned.Interface
	Core kubernetes.Interface
}

// NewScene creates the namespace and the Secret. The name of the namespace is short, because names of Nodes begin with it.
func NewScene(t *testing.T) *Scene {
	t.Helper()
	host := Of(t)
	config := host.RestConfig()
	s := &Scene{
		T: t, User: User{T: t, Kubeconfig: host.AdminKubeconfig, Namespace: "m-" + rand.String(6)},
		Host: host, Work: WorkloadCluster(t), API: versioned.NewForConfigOrDie(config), Core: kubernetes.NewForConfigOrDie(config),
	}
	s.Put("apiVersion: v1\nkind: Namespace\nmetadata: {name: " + s.Namespace + "}\n")
	s.RemoveAtEnd("namespace/" + s.Namespace)
	_, err := s.Core.CoreV1().Secrets(s.Namespace).Create(t.Context(), s.Work.Secret(s.Namespace, "c"), metav1.CreateOptions{})
	s.Must(err)
	return s
}

// Must ends the test with an error.
func (s *Scene) Must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// Eventually waits until check returns no error.
func (s *Scene) Eventually(what string, check func() error) {
	s.Helper()
	Eventually(s.T, patience, what, check)
}

// Node returns the name of the Node of a Machine.
func (s *Scene) Node(machine string) string { return s.Namespace + "-" + machine }

// WorkNamespace creates the namespace of the Scene in the workload cluster too.
func (s *Scene) WorkNamespace() {
	s.Helper()
	_, err := s.Work.Client().CoreV1().Namespaces().Create(s.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.Namespace}}, metav1.CreateOptions{})
	s.Must(err)
}

// Guarded creates a Pod on a Node of the workload cluster, and a PodDisruptionBudget of its name that does not allow
// its eviction.
func (s *Scene) Guarded(name, node string) {
	s.Helper()
	_, err := s.Work.AddPod(s.Context(), s.Namespace, name, node)
	s.Must(err)
	budgets := s.Work.Client().PolicyV1().PodDisruptionBudgets(s.Namespace)
	_, err = budgets.Create(s.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name},
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: ptr.To(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}},
	}, metav1.CreateOptions{})
	s.Must(err)
	s.Eventually("the budget is computed", func() error {
		b, err := budgets.Get(s.Context(), name, metav1.GetOptions{})
		if err == nil && b.Status.CurrentHealthy != 1 {
			err = fmt.Errorf("status %+v", b.Status)
		}
		return err
	})
}
