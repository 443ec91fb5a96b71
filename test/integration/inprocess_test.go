// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/test/integration/framework"
)

func TestInProcessClient_WatchReceivesEveryChangeInOrder(t *testing.T) {
	s := framework.StartStandalone(t)
	vms := framework.Client(t, s.InProcessConfig()).VmV1alpha1().VirtualMachines(namespace)
	empty, err := vms.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	watching, err := vms.Watch(t.Context(), metav1.ListOptions{ResourceVersion: empty.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for i := range 20 {
		vm, err := vms.Create(t.Context(), inlineVM(fmt.Sprintf("vm-%d", i)), metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, vm.Name+" "+vm.ResourceVersion)
	}
	for range want {
		event := next(t, watching)
		vm, ok := event.Object.(*vmv1alpha1.VirtualMachine)
		if !ok || event.Type != watch.Added {
			t.Fatalf("event %s of %T", event.Type, event.Object)
		}
		got = append(got, vm.Name+" "+vm.ResourceVersion)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	watching.Stop()
	for range watching.ResultChan() { // ends
	}
}

// next waits for an event until the test ends.
func next(t *testing.T, w watch.Interface) watch.Event {
	t.Helper()
	event, more := <-w.ResultChan()
	if !more {
		t.Fatal("the watch has ended")
	}
	return event
}

func TestInProcessClient_PassesAuthorizationAndAdmission(t *testing.T) {
	s := framework.StartStandalone(t)
	config := s.InProcessConfig()
	config.Impersonate = rest.ImpersonationConfig{UserName: "missing"}
	_, err := framework.Client(t, config).VmV1alpha1().VirtualMachines(namespace).List(t.Context(), metav1.ListOptions{})
	if !apierrors.IsForbidden(err) {
		t.Errorf("listing as a user without rights: %v, want Forbidden", err)
	}
	config = s.InProcessConfig()
	config.BearerToken = "of another issuer"
	_, err = framework.Client(t, config).VmV1alpha1().VirtualMachines(namespace).List(t.Context(), metav1.ListOptions{})
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "system:anonymous") {
		t.Errorf("listing with an unknown token: %v, want that it is Forbidden for system:anonymous", err)
	}
	long := inlineVM("vm-1")
	long.Spec.GuestID = string(make([]byte, 4<<20))
	_, err = framework.Client(t, s.InProcessConfig()).VmV1alpha1().VirtualMachines(namespace).Create(t.Context(), long, metav1.CreateOptions{})
	if !apierrors.IsRequestEntityTooLargeError(err) {
		t.Errorf("a request of 4 MiB: %v, want that it is too large", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = framework.Client(t, s.InProcessConfig()).VmV1alpha1().VirtualMachines(namespace).List(ended, metav1.ListOptions{})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a list whose context was canceled: %v, want that it is canceled", err)
	}
}
