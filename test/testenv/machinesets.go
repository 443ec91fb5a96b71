// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
)

// MachineSets is a Scene with Cluster "c", where every Machine that has an address gets a Node.
type MachineSets struct {
	*Scene

	mu sync.Mutex
	// most is the largest number of Machines at a time since MostMachines was called.
	most int
	// nodes are the names of the Nodes that were created.
	nodes map[string]bool
}

const machineSetCatalogue = `
apiVersion: v1
kind: Secret
metadata: {name: data}
stringData: {value: "#cloud-config\n{}", format: cloud-config}
---
apiVersion: vm.slipway.dev/v1alpha1
kind: VirtualMachineImage
metadata: {name: photon-5}
spec: {contentLibrary: {library: slipway, item: photon-5}}
---
apiVersion: instancetype.slipway.dev/v1alpha1
kind: VirtualMachineInstancetype
metadata: {name: small}
spec: {cpu: {guest: 1}, memory: {guest: 1Gi}}
---
apiVersion: instancetype.slipway.dev/v1alpha1
kind: VirtualMachineInstancetype
metadata: {name: large}
spec: {cpu: {guest: 2}, memory: {guest: 1Gi}}
---
apiVersion: vm.slipway.dev/v1alpha1
kind: VirtualMachineTemplate
metadata: {name: small}
spec: {template: {spec: {instancetype: {name: small, kind: VirtualMachineInstancetype}, image: {name: photon-5}}}}
---
apiVersion: vm.slipway.dev/v1alpha1
kind: VirtualMachineTemplate
metadata: {name: large}
spec: {template: {spec: {instancetype: {name: large, kind: VirtualMachineInstancetype}, image: {name: photon-5}}}}
---
apiVersion: vm.slipway.dev/v1alpha1
kind: SlipwayCluster
metadata: {name: c}
spec: {controlPlaneEndpoint: {host: 192.0.2.10, port: 6443}}
---
apiVersion: cluster.slipway.dev/v1alpha1
kind: Cluster
metadata: {name: c}
spec: {infrastructureRef: {apiGroup: vm.slipway.dev, kind: SlipwayCluster, name: c}}
`

// Workers returns the manifest of MachineDeployment "workers".
func Workers(replicas int, more string) string {
	return fmt.Sprintf(`
apiVersion: cluster.slipway.dev/v1alpha1
kind: MachineDeployment
metadata: {name: workers}
spec:
  clusterName: c
  replicas: %d
  revisionHistoryLimit: 2
  selector: {matchLabels: {pool: workers}}
  template:
    metadata: {labels: {pool: workers}}
    spec:
      clusterName: c
      bootstrap: {dataSecretName: data}
      infrastructureRef: {apiGroup: vm.slipway.dev, kind: VirtualMachineTemplate, name: small}
  %s
`, replicas, more)
}

// NewMachineSets creates the Cluster, and the objects that the Machines of Workers refer to.
func NewMachineSets(t *testing.T) *MachineSets {
	t.Helper()
	s := &MachineSets{Scene: NewScene(t), nodes: map[string]bool{}}
	s.Put(machineSetCatalogue)
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	joining := make(chan struct{})
	go func() {
		defer close(joining)
		s.join(ctx)
	}()
	t.Cleanup(func() {
		s.removeNamespace(ctx)
		stop()
		<-joining
	})
	return s
}

// removeNamespace waits until everything in the namespace is deleted.
func (s *MachineSets) removeNamespace(ctx context.Context) {
	s.Remove("namespace/" + s.Namespace)
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		_, err := s.Core.CoreV1().Namespaces().Get(ctx, s.Namespace, metav1.GetOptions{})
		return apierrors.IsNotFound(err), nil
	})
	if err != nil {
		s.Errorf("namespace %s is not deleted: %v", s.Namespace, err)
	}
}

// join creates a Node for every Machine that has its virtual machine, until ctx is done.
func (s *MachineSets) join(ctx context.Context) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		list, err := s.API.ClusterV1alpha1().Machines(s.Namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			continue // The server may have been killed.
		}
		s.mu.Lock()
		s.most = max(s.most, len(list.Items))
		s.mu.Unlock()
		for i := range list.Items {
			m := &list.Items[i]
			if name := s.Node(m.Name); m.Spec.ProviderID != "" && m.DeletionTimestamp == nil && !s.nodes[name] {
				if _, err := s.Work.AddNode(ctx, name, m.Spec.ProviderID); err == nil || apierrors.IsAlreadyExists(err) {
					s.nodes[name] = true
				}
			}
		}
	}
}

// MostMachines returns the largest number of Machines at a time since the previous call.
func (s *MachineSets) MostMachines() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.most
	s.most = 0
	return n
}

// Overview returns the objects of the namespace as kubectl prints them, for the message of a failed test.
func (s *MachineSets) Overview() string {
	out, _, _ := s.Try("", "kubectl", "get", "machinedeployments,machinesets,machines.cluster.slipway.dev,vm", "-o", "wide")
	return out
}

// Machines returns the sorted names of the Machines that are not being deleted.
func (s *MachineSets) Machines() []string {
	s.Helper()
	list, err := s.API.ClusterV1alpha1().Machines(s.Namespace).List(s.Context(), metav1.ListOptions{})
	s.Must(err)
	var names []string
	for _, m := range list.Items {
		if m.DeletionTimestamp == nil {
			names = append(names, m.Name)
		}
	}
	slices.Sort(names)
	return names
}

// Available waits until the deployment has n Machines which are all available and have its template.
func (s *MachineSets) Available(n int) {
	s.Helper()
	s.Eventually(fmt.Sprintf("%d Machines are available", n), func() error {
		d, err := s.API.ClusterV1alpha1().MachineDeployments(s.Namespace).Get(s.Context(), "workers", metav1.GetOptions{})
		if err != nil {
			return err
		}
		st := d.Status
		if st.ObservedGeneration == d.Generation && st.Replicas != nil && *st.Replicas == int32(n) && *st.AvailableReplicas == int32(n) && *st.UpToDateReplicas == int32(n) &&
			(st.Phase == clusterv1alpha1.MachineDeploymentPhaseRunning) {
			return nil
		}
		return errors.New(s.Overview())
	})
}

// UseTemplate changes the template of the deployment.
func (s *MachineSets) UseTemplate(name string) {
	s.Helper()
	s.Patch("machinedeployment/workers", fmt.Sprintf(`{"spec":{"template":{"spec":{"infrastructureRef":{"name":%q}}}}}`, name))
}

// Sizes returns the instance types of the virtual machines.
func (s *MachineSets) Sizes() string {
	s.Helper()
	sizes := strings.Fields(s.Get("vm", ".items[*].spec.instancetype.name"))
	slices.Sort(sizes)
	return strings.Join(sizes, " ")
}
