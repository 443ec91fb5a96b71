// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package availability

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	"github.com/slipway-dev/slipway/pkg/store/embedded"
)

// Each replica computes the usage of the quota from its own caches, and may not have received the charges of another
// replica.
func TestQuota_IsNotExceededByRequestsToThreeReplicas(t *testing.T) {
	t.Parallel()
	etcd, err := embedded.Start(t.Context(), embedded.Options{Dir: t.TempDir(), UnsafeNoFsync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(etcd.Close)
	s := newScene(t, "--etcd-servers="+etcd.Endpoint(), "--etcd-unsafe-no-fsync=false")
	var clients []versioned.Interface
	for _, r := range s.three() {
		clients = append(clients, s.client(r.direct))
	}
	const limit, requests = 7, 21
	if _, err := s.host().CoreV1().ResourceQuotas(namespace).Create(t.Context(), &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "team"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{vmv1alpha1.QuotaVCPUs: *resource.NewQuantity(limit, resource.DecimalSI)}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for i, client := range clients {
		s.eventually(fmt.Sprintf("replica %d has seen the quota", i), func() error {
			big := poweredOff("big")
			big.Spec.CPU.Sockets = limit + 1
			_, err := client.VmV1alpha1().VirtualMachines(namespace).Create(t.Context(), big, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			if !exceeded(err) {
				return fmt.Errorf("it answers %w", err)
			}
			return nil
		})
	}
	created := s.crowd(clients, requests)
	if created > limit {
		t.Errorf("%d VMs of one vCPU were created, but the quota allows %d", created, limit)
	}
	s.eventually("the charged VMs are the existing ones", func() error {
		q, err := s.host().CoreV1().ResourceQuotas(namespace).Get(t.Context(), "team", metav1.GetOptions{})
		if err != nil {
			return err
		}
		n, counted := q.Status.Used[vmv1alpha1.QuotaVCPUs]
		if !counted {
			return errors.New("nothing is counted")
		}
		if n.Value() != created {
			return fmt.Errorf("%d are charged, but %d exist", n.Value(), created)
		}
		return nil
	})
}

// crowd creates VMs of one vCPU concurrently and waits until a quota rejects each or it is created. It returns the
// number of created VMs.
func (s *scene) crowd(clients []versioned.Interface, requests int) int64 {
	s.Helper()
	var created atomic.Int64
	var all sync.WaitGroup
	for i := range requests {
		all.Go(func() {
			vms := clients[i%len(clients)].VmV1alpha1().VirtualMachines(namespace)
			var last error
			err := wait.PollUntilContextTimeout(s.Context(), 50*time.Millisecond, deadline, true, func(ctx context.Context) (bool, error) {
				_, last = vms.Create(ctx, poweredOff(fmt.Sprintf("vm-%d", i)), metav1.CreateOptions{})
				return last == nil || exceeded(last), nil
			})
			switch {
			case err != nil:
				s.Errorf("request %d was not decided: %v", i, last)
			case last == nil:
				created.Add(1)
			}
		})
	}
	all.Wait()
	return created.Load()
}

func exceeded(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "exceeded quota: team")
}

// poweredOff is a VM of one vCPU.
func poweredOff(name string) *vmv1alpha1.VirtualMachine {
	memory := resource.MustParse("1Gi")
	return &vmv1alpha1.VirtualMachine{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: vmv1alpha1.VirtualMachineSpec{
			Image: &vmv1alpha1.VirtualMachineImageRef{Name: "photon-5"}, PowerState: vmv1alpha1.PoweredOff,
			CPU: &vmv1alpha1.VirtualMachineCPU{Sockets: 1}, Memory: &vmv1alpha1.VirtualMachineMemory{Guest: &memory},
		},
	}
}
