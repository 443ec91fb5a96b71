// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"fmt"
	"math"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	vmclient "github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/typed/vm/v1alpha1"
	"github.com/slipway-dev/slipway/test/catalogue"
)

// accepted is the time limit for an order. The server is killed and started during that time, and a name is free only
// after the previous VM is deleted. After many kills many orders wait for that.
const accepted = 10 * time.Minute

// submit sends an order until it is accepted, concurrently with other orders. Then it releases the machine.
func (s *storm) submit(ctx context.Context, m *machine, o order) {
	as := m.wish // later orders do not change this one
	s.orders.Go(func() error {
		var last error
		ctx, cancel := context.WithTimeout(ctx, accepted)
		defer cancel()
		// Many orders can wait for a name. Their retries must not overload the server.
		pause := wait.Backoff{Duration: 200 * time.Millisecond, Factor: 1.5, Jitter: 0.5, Steps: math.MaxInt32, Cap: 3 * time.Second}
		err := pause.DelayFunc().Until(ctx, true, true, func(ctx context.Context) (bool, error) {
			last = s.give(ctx, o, as)
			if apierrors.IsInvalid(last) || apierrors.IsForbidden(last) || apierrors.IsBadRequest(last) {
				return false, last
			}
			return last == nil, nil
		})
		if err != nil {
			return fmt.Errorf("order %d of %s was not accepted: %w: %w", o, as.key(), err, last)
		}
		m.busy.Store(false)
		return nil
	})
}

// give sends an order. It may be called again after any failure.
func (s *storm) give(ctx context.Context, o order, m wish) error {
	vms := s.api.VmV1alpha1().VirtualMachines(m.namespace)
	patch := func(body string) error {
		_, err := vms.Patch(ctx, m.name, types.MergePatchType, []byte(body), metav1.PatchOptions{})
		return err
	}
	switch o {
	case create:
		return createOnce(ctx, vms, m)
	case remove:
		if err := vms.Delete(ctx, m.name, metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
			return err
		}
		return nil
	case resize:
		return patch(size(m))
	case power:
		return patch(fmt.Sprintf(`{"spec":{"powerState":%q}}`, powerState(m.on)))
	case restart:
		return patch(`{"spec":{"nextRestartTime":"now"}}`)
	}
	return nil
}

// createOnce accepts an existing VM of that name that is not being deleted, because the response to an earlier request
// may have been lost.
func createOnce(ctx context.Context, vms vmclient.VirtualMachineInterface, m wish) error {
	_, err := vms.Create(ctx, manifest(m), metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	there, getErr := vms.Get(ctx, m.name, metav1.GetOptions{})
	if getErr == nil && there.DeletionTimestamp == nil {
		return nil
	}
	return err
}

func manifest(m wish) *vmv1alpha1.VirtualMachine {
	vm := &vmv1alpha1.VirtualMachine{
		ObjectMeta: metav1.ObjectMeta{Namespace: m.namespace, Name: m.name},
		Spec: vmv1alpha1.VirtualMachineSpec{
			Image:        &vmv1alpha1.VirtualMachineImageRef{Name: catalogue.Item},
			PowerOffMode: vmv1alpha1.PowerOpModeHard, RestartMode: vmv1alpha1.PowerOpModeHard,
		},
	}
	if m.typed {
		vm.Spec.Instancetype = &vmv1alpha1.InstancetypeMatcher{Name: catalogue.Small, Kind: "VirtualMachineInstancetype"}
		return vm
	}
	memory := resource.MustParse(fmt.Sprintf("%dMi", m.memoryMB()))
	vm.Spec.Image.Name = catalogue.Template
	vm.Spec.CPU = &vmv1alpha1.VirtualMachineCPU{Sockets: m.vcpus()}
	vm.Spec.Memory = &vmv1alpha1.VirtualMachineMemory{Guest: &memory}
	return vm
}

func size(m wish) string {
	if !m.typed {
		return fmt.Sprintf(`{"spec":{"cpu":{"sockets":%d},"memory":{"guest":"%dMi"}}}`, m.vcpus(), m.memoryMB())
	}
	name := catalogue.Small
	if m.big {
		name = catalogue.Big
	}
	return fmt.Sprintf(`{"spec":{"instancetype":{"name":%q}}}`, name)
}

func powerState(on bool) vmv1alpha1.PowerState {
	if on {
		return vmv1alpha1.PoweredOn
	}
	return vmv1alpha1.PoweredOff
}
