// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"context"
	"fmt"
	"testing"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	"github.com/slipway-dev/slipway/test/localcluster"
)

// Composition of the fleet.
var (
	teams = []string{"billing", "checkout", "data-platform", "identity", "payments", "search", "shop", "warehouse"}
	roles = []string{"api", "cache", "db", "ingest", "web", "worker"}
	sizes = []struct {
		name   string
		vcpus  int32
		memory string
	}{{"u1.small", 1, "1Gi"}, {"u1.medium", 2, "2Gi"}, {"m1.large", 2, "3Gi"}}
)

// fleet creates objects as a user.
type fleet struct {
	slipway versioned.Interface
	host    kubernetes.Interface
}

func newFleet(t *testing.T, c *localcluster.Cluster) *fleet {
	t.Helper()
	config := c.RestConfig()
	slipway, err := versioned.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	host, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return &fleet{slipway: slipway, host: host}
}

// catalogue creates namespaces, sizes, a preference and images.
func (f *fleet) catalogue(ctx context.Context) error {
	for _, s := range sizes {
		it := &itv1alpha1.VirtualMachineClusterInstancetype{ObjectMeta: metav1.ObjectMeta{Name: s.name}}
		it.Spec.CPU.Guest, it.Spec.Memory.Guest = s.vcpus, resource.MustParse(s.memory)
		if _, err := f.slipway.InstancetypeV1alpha1().VirtualMachineClusterInstancetypes().Create(ctx, it, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	for _, team := range teams {
		if _, err := f.host.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: team}}, metav1.CreateOptions{}); err != nil {
			return err
		}
		image := &vmv1alpha1.VirtualMachineImage{ObjectMeta: metav1.ObjectMeta{Name: "photon-5"}}
		image.Spec.ContentLibrary = &vmv1alpha1.ContentLibraryImageSource{Library: "slipway", Item: "photon-5"}
		if _, err := f.slipway.VmV1alpha1().VirtualMachineImages(team).Create(ctx, image, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// fill creates virtual machines. Most of them run.
func (f *fleet) fill(ctx context.Context, n int) error {
	makers, ctx := errgroup.WithContext(ctx)
	makers.SetLimit(16)
	for i := range n {
		makers.Go(func() error {
			vm := machineOf(i)
			_, err := f.slipway.VmV1alpha1().VirtualMachines(vm.Namespace).Create(ctx, vm, metav1.CreateOptions{})
			return err
		})
	}
	return makers.Wait()
}

// machineOf returns the i-th virtual machine. In every hundred some are powered off, suspended, or lack a prerequisite.
func machineOf(i int) *vmv1alpha1.VirtualMachine {
	role := roles[i/len(teams)%len(roles)]
	vm := &vmv1alpha1.VirtualMachine{ObjectMeta: metav1.ObjectMeta{
		Name: fmt.Sprintf("%s-%d", role, i/(len(teams)*len(roles))+1), Namespace: teams[i%len(teams)], Labels: map[string]string{"app": role},
	}}
	vm.Spec.Instancetype = &vmv1alpha1.InstancetypeMatcher{Name: sizes[(i*7/3)%len(sizes)].name}
	vm.Spec.Image = &vmv1alpha1.VirtualMachineImageRef{Name: "photon-5"}
	switch i % 100 {
	case 11, 35, 62, 87:
		vm.Spec.PowerState = vmv1alpha1.PoweredOff
	case 53:
		vm.Spec.PowerState = vmv1alpha1.Suspended
	case 17:
		vm.Spec.Image.Name = "photon-6" // there is none
	case 71:
		vm.Spec.Instancetype.Name = "u1.huge" // there is none
	case 29:
		vm.Annotations = map[string]string{"poweron.check.vm.slipway.dev/backup": "the first backup is not made"}
	}
	return vm
}
