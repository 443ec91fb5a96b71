// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/scheme"
)

const namespace = "team-a"

// inlineVM returns the smallest valid VM.
func inlineVM(name string) *vmv1alpha1.VirtualMachine {
	memory := resource.MustParse("2Gi")
	return &vmv1alpha1.VirtualMachine{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
		Spec: vmv1alpha1.VirtualMachineSpec{
			CPU:    &vmv1alpha1.VirtualMachineCPU{Sockets: 2},
			Memory: &vmv1alpha1.VirtualMachineMemory{Guest: &memory},
		},
	}
}

// typedVM takes its size from the cluster instance type called instancetype.
func typedVM(name, instancetype string) *vmv1alpha1.VirtualMachine {
	return &vmv1alpha1.VirtualMachine{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
		Spec: vmv1alpha1.VirtualMachineSpec{
			Instancetype: &vmv1alpha1.InstancetypeMatcher{Name: instancetype},
		},
	}
}

func createVM(t *testing.T, c versioned.Interface, vm *vmv1alpha1.VirtualMachine) *vmv1alpha1.VirtualMachine {
	t.Helper()
	created, err := c.VmV1alpha1().VirtualMachines(vm.Namespace).Create(t.Context(), vm, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("creating VirtualMachine %s: %v", vm.Name, err)
	}
	return created
}

func getVM(t *testing.T, c versioned.Interface, name string) *vmv1alpha1.VirtualMachine {
	t.Helper()
	vm, err := c.VmV1alpha1().VirtualMachines(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatalf("reading VirtualMachine %s: %v", name, err)
	}
	return vm
}

func createClusterInstancetype(t *testing.T, c versioned.Interface, name string, vcpus int32, memory string) *itv1alpha1.VirtualMachineClusterInstancetype {
	t.Helper()
	created, err := c.InstancetypeV1alpha1().VirtualMachineClusterInstancetypes().Create(t.Context(), &itv1alpha1.VirtualMachineClusterInstancetype{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: itv1alpha1.VirtualMachineInstancetypeSpec{
			CPU:    itv1alpha1.CPUInstancetype{Guest: vcpus},
			Memory: itv1alpha1.MemoryInstancetype{Guest: resource.MustParse(memory)},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("creating VirtualMachineClusterInstancetype %s: %v", name, err)
	}
	return created
}

// restClient returns a JSON client for paths of the server.
func restClient(t *testing.T, config *rest.Config) *rest.RESTClient {
	t.Helper()
	c := rest.CopyConfig(config)
	c.GroupVersion = &vmv1alpha1.SchemeGroupVersion
	c.APIPath = "/apis"
	c.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	client, err := rest.RESTClientFor(c)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// postYAML creates the object of a manifest at path, like kubectl with strict
// validation of fields, and returns its error.
func postYAML(t *testing.T, client *rest.RESTClient, path, manifest string) error {
	t.Helper()
	return client.Post().AbsPath(path).Param("fieldValidation", "Strict").
		SetHeader("Content-Type", runtime.ContentTypeYAML).Body([]byte(manifest)).Do(t.Context()).Error()
}
