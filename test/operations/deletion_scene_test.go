// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	"github.com/slipway-dev/slipway/test/testenv"
)

var (
	exampleMachines = schema.GroupVersionResource{Group: "infrastructure.example.org", Version: "v1", Resource: "examplemachines"}
	exampleConfigs  = schema.GroupVersionResource{Group: "bootstrap.example.org", Version: "v1", Resource: "exampleconfigs"}
)

// Hooks that the test sets for the deletion of a Machine.
const (
	preDrainHook     = clusterv1alpha1.PreDrainDeleteHookAnnotationPrefix + "/test"
	preTerminateHook = clusterv1alpha1.PreTerminateDeleteHookAnnotationPrefix + "/test"
)

// heldFinalizer is the finalizer of the test.
const heldFinalizer = "example.org/held"

// deletionScene is a Cluster in its own namespace, which exists in both clusters.
type deletionScene struct {
	*testenv.Scene
	objects dynamic.Interface
	// nodes is the workload cluster.
	nodes kubernetes.Interface
}

func newDeletionScene(t *testing.T) *deletionScene {
	t.Helper()
	s := &deletionScene{Scene: testenv.NewScene(t)}
	s.objects, s.nodes = dynamic.NewForConfigOrDie(s.Host.RestConfig()), s.Work.Client()
	s.WorkNamespace()
	c, err := s.API.ClusterV1alpha1().Clusters(s.Namespace).Create(t.Context(), &clusterv1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "c"},
	}, metav1.CreateOptions{})
	s.Must(err)
	s.Eventually("the status of the Cluster is provisioned", func() error {
		c, err = s.API.ClusterV1alpha1().Clusters(s.Namespace).Get(t.Context(), "c", metav1.GetOptions{})
		if err != nil || ptr.Deref(c.Status.Initialization.InfrastructureProvisioned, false) {
			return err
		}
		c.Status.Initialization.InfrastructureProvisioned = ptr.To(true)
		_, err = s.API.ClusterV1alpha1().Clusters(s.Namespace).UpdateStatus(t.Context(), c, metav1.UpdateOptions{})
		return err
	})
	return s
}

// machine creates a Machine, the objects that it refers to, and its Node, and waits until they are linked.
func (s *deletionScene) machine(name string, change ...func(*clusterv1alpha1.Machine)) {
	s.Helper()
	provider := "example://" + s.Namespace + "/" + name
	s.object(exampleMachines, "ExampleMachine", name, map[string]any{"providerID": provider}, map[string]any{"initialization": map[string]any{"provisioned": true}})
	s.object(exampleConfigs, "ExampleConfig", name, map[string]any{}, map[string]any{"initialization": map[string]any{"dataSecretCreated": true}, "dataSecretName": "data"})
	m := &clusterv1alpha1.Machine{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name, Annotations: map[string]string{}},
		Spec: clusterv1alpha1.MachineSpec{
			ClusterName:       "c",
			Bootstrap:         clusterv1alpha1.Bootstrap{ConfigRef: clusterv1alpha1.ContractVersionedObjectReference{APIGroup: exampleConfigs.Group, Kind: "ExampleConfig", Name: name}},
			InfrastructureRef: clusterv1alpha1.ContractVersionedObjectReference{APIGroup: exampleMachines.Group, Kind: "ExampleMachine", Name: name},
		},
	}
	for _, c := range change {
		c(m)
	}
	_, err := s.API.ClusterV1alpha1().Machines(s.Namespace).Create(s.Context(), m, metav1.CreateOptions{})
	s.Must(err)
	_, err = s.Work.AddNode(s.Context(), s.Node(name), provider)
	s.Must(err)
	s.Eventually("Machine "+name+" has its Node", func() error {
		if m := s.get(name); m.Status.NodeRef.Name != s.Node(name) {
			return fmt.Errorf("status %+v", m.Status)
		}
		return nil
	})
}

// object creates an object of a kind of the test, with its finalizer.
func (s *deletionScene) object(of schema.GroupVersionResource, kind, name string, spec, status map[string]any) {
	s.Helper()
	_, err := s.objects.Resource(of).Namespace(s.Namespace).Create(s.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": of.GroupVersion().String(), "kind": kind,
		"metadata": map[string]any{"name": name, "finalizers": []any{heldFinalizer}},
		"spec":     spec, "status": status,
	}}, metav1.CreateOptions{})
	s.Must(err)
}

// get reads a Machine. It returns an empty one if it does not exist.
func (s *deletionScene) get(name string) *clusterv1alpha1.Machine {
	s.Helper()
	m, err := s.API.ClusterV1alpha1().Machines(s.Namespace).Get(s.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return &clusterv1alpha1.Machine{}
	}
	s.Must(err)
	return m
}

// delete requests the deletion of a Machine.
func (s *deletionScene) delete(name string) {
	s.Helper()
	s.Must(s.API.ClusterV1alpha1().Machines(s.Namespace).Delete(s.Context(), name, metav1.DeleteOptions{}))
}

// waitsAt waits until a deletion has reached a stage, with a condition that has the reason and a message with all
// texts.
func (s *deletionScene) waitsAt(name string, stage clusterv1alpha1.MachineDeletionStage, reason string, texts ...string) *clusterv1alpha1.Machine {
	s.Helper()
	var m *clusterv1alpha1.Machine
	s.Eventually(fmt.Sprintf("the deletion of Machine %s is at stage %s", name, stage), func() error {
		m = s.get(name)
		c := conditions.Find(m.Status.Conditions, clusterv1alpha1.DeletingCondition)
		if c == nil || m.Status.Deletion == nil || m.Status.Deletion.Stage != stage || c.Reason != reason {
			return fmt.Errorf("deletion %+v, condition %+v", m.Status.Deletion, c)
		}
		for _, text := range texts {
			if !strings.Contains(c.Message, text) {
				return fmt.Errorf("message %q without %q", c.Message, text)
			}
		}
		return nil
	})
	return m
}

// awaitDeleted waits until a Machine is deleted.
func (s *deletionScene) awaitDeleted(name string) {
	s.Helper()
	s.Eventually("Machine "+name+" is deleted", func() error {
		if m := s.get(name); m.Name != "" {
			return fmt.Errorf("deletion %+v, condition %+v", m.Status.Deletion, conditions.Find(m.Status.Conditions, clusterv1alpha1.DeletingCondition))
		}
		return nil
	})
}

// unhook removes an annotation of a Machine.
func (s *deletionScene) unhook(name, key string) {
	s.Helper()
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:null}}}`, key)
	_, err := s.API.ClusterV1alpha1().Machines(s.Namespace).Patch(s.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{})
	s.Must(err)
}

// isDeleted waits until an object is being deleted.
func (s *deletionScene) isDeleted(of schema.GroupVersionResource, name string) {
	s.Helper()
	s.Eventually(of.Resource+" "+name+" is deleted", func() error {
		o, err := s.objects.Resource(of).Namespace(s.Namespace).Get(s.Context(), name, metav1.GetOptions{})
		if err == nil && o.GetDeletionTimestamp() == nil {
			err = fmt.Errorf("finalizers %v", o.GetFinalizers())
		}
		return err
	})
}

// release removes the finalizer of the test from an object.
func (s *deletionScene) release(of schema.GroupVersionResource, name string) {
	s.Helper()
	_, err := s.objects.Resource(of).Namespace(s.Namespace).Patch(s.Context(), name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	s.Must(err)
}

// hasNode reports whether the Node of a Machine exists.
func (s *deletionScene) hasNode(machine string) bool {
	s.Helper()
	_, err := s.nodes.CoreV1().Nodes().Get(s.Context(), s.Node(machine), metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		s.Must(err)
	}
	return err == nil
}

// events counts the events of a Machine that have one of the reasons.
func (s *deletionScene) events(machine string, reasons ...string) map[string]int {
	s.Helper()
	list, err := s.Core.EventsV1().Events(s.Namespace).List(s.Context(), metav1.ListOptions{})
	s.Must(err)
	counts := map[string]int{}
	for _, e := range list.Items {
		if e.Regarding.Kind != "Machine" || e.Regarding.Name != machine || !slices.Contains(reasons, e.Reason) {
			continue
		}
		counts[e.Reason]++
		if e.Series != nil {
			counts[e.Reason] += int(e.Series.Count) - 1
		}
	}
	return counts
}
