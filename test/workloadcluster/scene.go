// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package workloadcluster

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
)

// long is far more than anything takes here, with a build on the other core.
const long = 4 * time.Minute

// Scene is a test in a namespace of its own, with the Secret of Cluster "c", whose API is the
// workload cluster.
type Scene struct {
	*testing.T
	// API and Core are clients of an administrator of the management cluster.
	API       versioned.Interface
	Core      kubernetes.Interface
	Namespace string

	pair *Pair
}

// NewScene makes the namespace and the Secret.
func NewScene(t *testing.T, p *Pair) *Scene {
	t.Helper()
	config := p.Host.RestConfig()
	s := &Scene{T: t, pair: p, API: versioned.NewForConfigOrDie(config), Core: kubernetes.NewForConfigOrDie(config), Namespace: "m-" + rand.String(6)}
	_, err := s.Core.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.Namespace}}, metav1.CreateOptions{})
	s.Must(err)
	_, err = s.Core.CoreV1().Secrets(s.Namespace).Create(t.Context(), p.Work.Secret(s.Namespace, "c"), metav1.CreateOptions{})
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
	var last error
	err := wait.PollUntilContextTimeout(s.Context(), 100*time.Millisecond, long, true, func(context.Context) (bool, error) {
		last = check()
		return last == nil, nil
	})
	if err != nil {
		s.Fatalf("%s: not within %s: %v", what, long, last)
	}
}

// Node is the name of the Node of a Machine.
func (s *Scene) Node(machine string) string { return s.Namespace + "-" + machine }

// Kill kills the server, and returns when another one serves.
func (s *Scene) Kill() {
	s.Helper()
	s.Must(s.pair.Host.KillSlipway())
	s.Must(s.pair.Host.RestartSlipway(s.Context()))
	s.Eventually("the kinds are known again", func() error {
		_, err := s.API.ClusterV1alpha1().Machines(s.Namespace).List(s.Context(), metav1.ListOptions{})
		return err
	})
}
