// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterapi

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// joining is the taint with which kubeadm joins a node. Cluster API removes it.
var joining = corev1.Taint{Key: "node.cluster.x-k8s.io/uninitialized", Effect: corev1.TaintEffectNoSchedule}

// letJoin simulates the guests of virtual machines: each guest with an address joins the workload cluster once.
func (s *scene) letJoin() {
	ctx, cancel := context.WithCancel(s.Context())
	var running sync.WaitGroup
	joined := map[types.UID]bool{}
	running.Go(func() {
		_ = wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
			list, err := s.vms.VirtualMachines(s.namespace).List(ctx, metav1.ListOptions{})
			if err != nil {
				return false, nil // the next attempt
			}
			for _, vm := range list.Items {
				if joined[vm.UID] || !booted(&vm) {
					continue
				}
				_, err := env.Work.AddNode(ctx, vm.Name, vm.Spec.ProviderID, func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{joining} })
				if ctx.Err() == nil && err != nil {
					s.Errorf("%s joins: %v", vm.Name, err)
				}
				joined[vm.UID] = true
			}
			return false, nil
		})
	})
	s.Cleanup(running.Wait)
	s.Cleanup(cancel)
}

// booted reports whether a guest runs and has an address.
func booted(vm *vmv1alpha1.VirtualMachine) bool {
	return vm.DeletionTimestamp == nil && vm.Spec.ProviderID != "" && len(vm.Status.Addresses) > 0
}
