// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
)

func (s *testSetup) poweredOffVM(name string) *provider.Request {
	req := s.runningVM(name)
	req.VM.Spec.PowerState = vmv1alpha1.PoweredOff
	if err := s.reconcile(req); err != nil || req.VM.Status.PowerState != vmv1alpha1.PoweredOff {
		s.t.Fatalf("powering off: %v", err)
	}
	return req
}

func publication(of *provider.Request, namespace, name string) *provider.Publication {
	return &provider.Publication{
		NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}, UID: types.UID(namespace + "/" + name),
		Source: provider.KeyOf(of.VM).NamespacedName, VM: of.VM, Now: time.Now(),
	}
}

func TestDeletion_InterruptsThePublicationOfItsVM(t *testing.T) {
	runInBubble(t, func(s *testSetup) {
		req := s.poweredOffVM("vm")
		release := s.driver.Block()
		defer release()
		pub := publication(req, "ns", "now")
		if _, err := s.Publish(t.Context(), pub); !errors.Is(err, provider.ErrReconcileInProgress) {
			t.Fatalf("publishing = %v, want ErrReconcileInProgress", err)
		}
		if _, err := s.reconcileOnce(req, s.DeleteVirtualMachine); !errors.Is(err, provider.ErrReconcileInProgress) {
			t.Errorf("deletion = %v, want ErrReconcileInProgress", err)
		}
		synctest.Wait()
		release()
		if err := s.remove(req); err != nil || len(s.driver.VMs()) != 0 || s.driver.OperationCount(driver.KindPublish) != 0 {
			t.Errorf("deletion = %v, %d VMs left, %d published; want none", err, len(s.driver.VMs()), s.driver.OperationCount(driver.KindPublish))
		}
	})
}

func TestPublish_IsLimited(t *testing.T) {
	runInBubble(t, func(s *testSetup) {
		var pubs []*provider.Publication
		for i := range 5 {
			pubs = append(pubs, publication(s.poweredOffVM(fmt.Sprintf("vm-%d", i)), fmt.Sprintf("ns-%d", i), "now"))
		}
		release := s.driver.Block()
		for i, pub := range pubs {
			want := provider.ErrReconcileInProgress
			if i == 4 {
				want = provider.ErrTooManyOperations
			}
			if _, err := s.Publish(t.Context(), pub); !errors.Is(err, want) {
				t.Errorf("publication %d = %v, want %v", i, err, want)
			}
		}
		release()
		synctest.Wait()
		for i, pub := range pubs[:4] {
			if made, err := s.Publish(t.Context(), pub); err != nil || made == nil {
				t.Errorf("publication %d = %v, %v; want the item", i, made, err)
			}
		}
		if _, err := s.Publish(t.Context(), pubs[4]); !errors.Is(err, provider.ErrReconcileInProgress) {
			t.Errorf("the last = %v, want ErrReconcileInProgress", err)
		}
		synctest.Wait()
		if n := s.driver.OperationCount(driver.KindPublish); n != 5 {
			t.Errorf("%d published, want 5", n)
		}
		for _, pub := range pubs {
			s.ForgetPublication(pub.NamespacedName)
		}
	})
}

func TestPublish_DistinguishesRequestsOfTheSameNameByUID(t *testing.T) {
	runInBubble(t, func(s *testSetup) {
		req := s.poweredOffVM("vm")
		first := publication(req, "ns", "now")
		_, _ = s.Publish(t.Context(), first)
		synctest.Wait()
		if made, err := s.Publish(t.Context(), first); err != nil || made == nil {
			t.Fatalf("published %v, %v", made, err)
		}
		second := publication(req, "ns", "now")
		second.UID = "another"
		if made, err := s.Publish(t.Context(), second); !errors.Is(err, provider.ErrReconcileInProgress) {
			t.Errorf("another request of the same name = %v, %v; want ErrReconcileInProgress", made, err)
		}
		synctest.Wait()
		if err := s.Withdraw(t.Context(), second); !errors.Is(err, provider.ErrReconcileInProgress) {
			t.Errorf("withdrawing = %v, want ErrReconcileInProgress", err)
		}
		synctest.Wait()
		if err := s.Withdraw(t.Context(), second); err != nil {
			t.Errorf("withdrawing = %v, want success", err)
		}
	})
}
