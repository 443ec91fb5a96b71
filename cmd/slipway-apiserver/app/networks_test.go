// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/slipway-dev/slipway/pkg/networks"
)

func nodeAt(name string, podCIDRs []string, addresses ...string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{PodCIDRs: podCIDRs}}
	for _, a := range addresses {
		n.Status.Addresses = append(n.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: a})
	}
	return n
}

// checkAll compares the addresses that may be connected to.
func checkAll(t *testing.T, n *networks.Networks, allowed, denied string) {
	t.Helper()
	synctest.Wait()
	for _, text := range strings.Fields(allowed) {
		if err := n.Check(netip.MustParseAddr(text)); err != nil {
			t.Errorf("%s: %v, want no error", text, err)
		}
	}
	for _, text := range strings.Fields(denied) {
		var deny *networks.DeniedError
		if err := n.Check(netip.MustParseAddr(text)); !errors.As(err, &deny) {
			t.Errorf("%s: %v, want a DeniedError", text, err)
		}
	}
}

func TestDestinations_DenyAddressesOfTheManagementCluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := fake.NewClientset(
			&networkingv1.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{Name: "kubernetes"}, Spec: networkingv1.ServiceCIDRSpec{CIDRs: []string{"10.96.0.0/12", "fd00:96::/108"}}},
			nodeAt("a", []string{"10.244.0.0/24", "fd00:244::/64"}, "192.0.2.10", "a.example.com"),
			nodeAt("b", nil, "192.0.2.11", "2001:db8::11"))
		// Workload clusters are reached where the flag names them: one of them is the management cluster.
		d, err := newDestinations(t.Context(), &Options{Workloads: WorkloadOptions{Networks: []string{"192.0.2.10/32"}}}, host)
		if err != nil {
			t.Fatal(err)
		}
		defer d.stop()
		checkAll(t, &d.probes, "192.0.2.12 10.244.1.1 2001:db8::1 10.95.0.1",
			"10.96.0.1 fd00:96::1 192.0.2.10 192.0.2.11 2001:db8::11 10.244.0.7 fd00:244::7 169.254.169.254")
		checkAll(t, &d.workloads, "192.0.2.10", "192.0.2.11 192.0.2.12 10.96.0.1")

		_, err = host.CoreV1().Nodes().Create(t.Context(), nodeAt("c", []string{"10.244.1.0/24"}, "192.0.2.12"), metav1.CreateOptions{})
		if err == nil {
			err = host.CoreV1().Nodes().Delete(t.Context(), "b", metav1.DeleteOptions{})
		}
		if err != nil {
			t.Fatal(err)
		}
		checkAll(t, &d.probes, "192.0.2.11 2001:db8::11", "192.0.2.12 10.244.1.1 192.0.2.10")
	})
}

func TestDestinations_AreDeniedWhileTheManagementClusterCannotBeRead(t *testing.T) {
	// In real time: the library spaces the errors that it logs by the time of the last one in the process.
	host := fake.NewClientset()
	host.PrependReactor("list", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(corev1.Resource("nodes"), "", nil)
	})
	d, err := newDestinations(t.Context(), &Options{}, host)
	if err != nil {
		t.Fatal(err)
	}
	defer d.stop()
	for name, n := range map[string]*networks.Networks{"probes": &d.probes, "workload clusters": &d.workloads} {
		var last error
		err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
			last = n.Check(netip.MustParseAddr("192.0.2.1"))
			return apierrors.IsForbidden(last) && strings.Contains(last.Error(), "--probe-networks"), nil
		})
		if err != nil {
			t.Errorf("%s: %v, want an error that wraps the cause and names the flags", name, last)
		}
	}
}

func TestDestinations_NamedByBothFlagsReadNothing(t *testing.T) {
	host := fake.NewClientset()
	d, err := newDestinations(t.Context(), &Options{Probes: ProbeOptions{Networks: []string{"10.0.0.0/8", "fd00::/8"}}, Workloads: WorkloadOptions{Networks: []string{"192.0.2.0/24"}}}, host)
	if err != nil {
		t.Fatal(err)
	}
	defer d.stop()
	synctest.Test(t, func(t *testing.T) {
		checkAll(t, &d.probes, "10.96.0.1 fd00::1", "192.0.2.1 127.0.0.1")
		checkAll(t, &d.workloads, "192.0.2.1", "10.96.0.1")
	})
	if got := len(host.Actions()); got != 0 {
		t.Errorf("%d requests to the management cluster, want none", got)
	}
}
