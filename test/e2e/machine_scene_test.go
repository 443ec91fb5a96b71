// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/test/testenv"
)

// scene is a namespace with Cluster "c", whose API is the workload cluster.
type scene struct{ *testenv.Scene }

func newScene(t *testing.T) *scene {
	t.Helper()
	s, ctx := &scene{testenv.NewScene(t)}, t.Context()
	s.Must(first(s.Core.CoreV1().Secrets(s.Namespace).Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "data"}, StringData: map[string]string{"value": "#cloud-config\n{}", "format": "cloud-config"},
	}, metav1.CreateOptions{})))
	s.Must(first(s.API.VmV1alpha1().VirtualMachineImages(s.Namespace).Create(ctx, &vmv1alpha1.VirtualMachineImage{
		ObjectMeta: metav1.ObjectMeta{Name: "photon-5"},
		Spec:       vmv1alpha1.VirtualMachineImageSpec{ContentLibrary: &vmv1alpha1.ContentLibraryImageSource{Library: "slipway", Item: "photon-5"}},
	}, metav1.CreateOptions{})))
	size := &itv1alpha1.VirtualMachineInstancetype{ObjectMeta: metav1.ObjectMeta{Name: "small"}}
	size.Spec.CPU.Guest, size.Spec.Memory.Guest = 1, oneGiB
	s.Must(first(s.API.InstancetypeV1alpha1().VirtualMachineInstancetypes(s.Namespace).Create(ctx, size, metav1.CreateOptions{})))
	s.Must(first(s.API.ClusterV1alpha1().Clusters(s.Namespace).Create(ctx, &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "c"}}, metav1.CreateOptions{})))
	return s
}

func first[T any](_ T, err error) error { return err }

// vm creates a virtual machine for a Machine.
func (s *scene) vm(name string) {
	s.Helper()
	vm := &vmv1alpha1.VirtualMachine{ObjectMeta: metav1.ObjectMeta{Name: name}}
	vm.Spec.Instancetype = &vmv1alpha1.InstancetypeMatcher{Name: "small", Kind: "VirtualMachineInstancetype"}
	vm.Spec.Image = &vmv1alpha1.VirtualMachineImageRef{Name: "photon-5"}
	s.Must(first(s.API.VmV1alpha1().VirtualMachines(s.Namespace).Create(s.Context(), vm, metav1.CreateOptions{})))
}

// machine creates a Machine with a virtual machine of its name.
func (s *scene) machine(name string, change ...func(*clusterv1alpha1.Machine)) {
	s.Helper()
	s.vm(name)
	data := "data"
	m := &clusterv1alpha1.Machine{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: clusterv1alpha1.MachineSpec{
			ClusterName: "c", Bootstrap: clusterv1alpha1.Bootstrap{DataSecretName: &data},
			InfrastructureRef: clusterv1alpha1.ContractVersionedObjectReference{APIGroup: vmv1alpha1.GroupName, Kind: "VirtualMachine", Name: name},
		},
	}
	for _, f := range change {
		f(m)
	}
	s.Must(first(s.API.ClusterV1alpha1().Machines(s.Namespace).Create(s.Context(), m, metav1.CreateOptions{})))
}

// get reads a Machine and returns nil if it does not exist.
func (s *scene) get(name string) (*clusterv1alpha1.Machine, error) {
	m, err := s.API.ClusterV1alpha1().Machines(s.Namespace).Get(s.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return m, err
}

// until waits until the condition function accepts the Machine, which is nil if it does not exist.
func (s *scene) until(name, what string, is func(*clusterv1alpha1.Machine) bool) *clusterv1alpha1.Machine {
	s.Helper()
	var m *clusterv1alpha1.Machine
	s.Eventually(what, func() (err error) {
		if m, err = s.get(name); err == nil && !is(m) {
			err = errors.New(describe(m))
		}
		return err
	})
	return m
}

func describe(m *clusterv1alpha1.Machine) string {
	if m == nil {
		return "it does not exist"
	}
	text := fmt.Sprintf("phase %s, provider ID %s, Node %s, deletion %+v", m.Status.Phase, m.Spec.ProviderID, m.Status.NodeRef.Name, m.Status.Deletion)
	for _, c := range m.Status.Conditions {
		text += fmt.Sprintf("\n%s=%s %s %s", c.Type, c.Status, c.Reason, c.Message)
	}
	return text
}

// join waits until a Machine has its virtual machine, and creates its Node.
func (s *scene) join(name string) *clusterv1alpha1.Machine {
	s.Helper()
	m := s.until(name, "the Machine is provisioned", func(m *clusterv1alpha1.Machine) bool {
		return m != nil && m.Spec.ProviderID != "" && len(m.Status.Addresses) > 0
	})
	s.Must(first(s.Work.AddNode(s.Context(), s.Node(name), m.Spec.ProviderID)))
	return s.until(name, "the Machine runs", func(m *clusterv1alpha1.Machine) bool {
		return m != nil && m.Status.Phase == clusterv1alpha1.MachinePhaseRunning
	})
}

// waits waits until a deletion reports a reason.
func (s *scene) waits(name, reason string) *clusterv1alpha1.Machine {
	s.Helper()
	return s.until(name, "the deletion is at "+reason, func(m *clusterv1alpha1.Machine) bool {
		if m == nil {
			return false
		}
		c := conditions.Find(m.Status.Conditions, clusterv1alpha1.DeletingCondition)
		return c != nil && c.Reason == reason
	})
}

func (s *scene) delete(name string) {
	s.Helper()
	s.Must(s.API.ClusterV1alpha1().Machines(s.Namespace).Delete(s.Context(), name, metav1.DeleteOptions{}))
}

func (s *scene) annotate(name, key string, value *string) {
	s.Helper()
	s.Must(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		m, err := s.get(name)
		if err != nil {
			return err
		}
		if value == nil {
			delete(m.Annotations, key)
		} else {
			metav1.SetMetaDataAnnotation(&m.ObjectMeta, key, *value)
		}
		_, err = s.API.ClusterV1alpha1().Machines(s.Namespace).Update(s.Context(), m, metav1.UpdateOptions{})
		return err
	}))
}
