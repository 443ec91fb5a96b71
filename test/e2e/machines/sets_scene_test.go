// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machines

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/test/testenv"
	"github.com/slipway-dev/slipway/test/workloadcluster"
)

// setScene is a namespace with Cluster "c", whose API is the workload cluster, where every Machine
// that has an address gets a Node.
type setScene struct {
	*workloadcluster.Scene
	// u does without processes what the scene makes and reads.
	u testenv.User

	mu sync.Mutex
	// most is how many Machines there were at a time, since it was asked for last.
	most int
	// nodes are the names of the Nodes that were made.
	nodes map[string]bool
}

const catalogue = `
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

// workers is a MachineDeployment.
func workers(replicas int, more string) string {
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

func newSetScene(t *testing.T) *setScene {
	t.Helper()
	s := &setScene{Scene: workloadcluster.NewScene(t, &pair), nodes: map[string]bool{}}
	s.u = testenv.User{T: t, Kubeconfig: pair.Host.AdminKubeconfig, Namespace: s.Namespace}
	s.apply(catalogue)
	ctx, stop := context.WithCancel(context.Background())
	joining := make(chan struct{})
	go func() {
		defer close(joining)
		s.join(ctx)
	}()
	t.Cleanup(func() {
		s.kubectl("delete", "namespace", s.Namespace, "--timeout=240s")
		stop()
		<-joining
	})
	return s
}

// join makes a Node for every Machine that has its virtual machine, until ctx is done.
func (s *setScene) join(ctx context.Context) {
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
			if name := s.Namespace + "-" + m.Name; m.Spec.ProviderID != "" && m.DeletionTimestamp == nil && !s.nodes[name] {
				if _, err := pair.Work.AddNode(ctx, name, m.Spec.ProviderID); err == nil || apierrors.IsAlreadyExists(err) {
					s.nodes[name] = true
				}
			}
		}
	}
}

// mostMachines is how many there were at a time since it was asked for last.
func (s *setScene) mostMachines() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.most
	s.most = 0
	return n
}

// run runs a program in the namespace.
func (s *setScene) run(input, program string, args ...string) (string, error) {
	c := exec.Command(filepath.Join(pair.BinDir, program), append([]string{"--kubeconfig", pair.Host.AdminKubeconfig, "--namespace", s.Namespace}, args...)...)
	c.Stdin = strings.NewReader(input)
	out, err := c.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func (s *setScene) kubectl(args ...string) string {
	s.Helper()
	out, err := s.run("", "kubectl", args...)
	if err != nil {
		s.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func (s *setScene) virtctl(args ...string) string {
	s.Helper()
	out, err := s.run("", "virtctl", args...)
	if err != nil {
		s.Fatalf("virtctl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func (s *setScene) apply(manifest string) {
	s.Helper()
	s.u.Put(manifest)
}

// get is a field of an object, by a path of JSONPath.
func (s *setScene) get(object, path string) string {
	s.Helper()
	return s.u.Get(object, path)
}

// wants waits until a field of an object is so.
func (s *setScene) wants(object, path, want string) {
	s.Helper()
	s.u.Wants(object, path, want)
}

// picture describes the existing objects for the failure message of a test.
func (s *setScene) picture() string {
	out, _ := s.run("", "kubectl", "get", "machinedeployments,machinesets,machines,vm", "-o", "wide")
	return out
}

// machines returns the names of the Machines that are not being deleted, by their set.
func (s *setScene) machines() []string {
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

// available waits until the deployment has so many Machines, all available and none else.
func (s *setScene) available(n int) {
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
		return errors.New(s.picture())
	})
}
