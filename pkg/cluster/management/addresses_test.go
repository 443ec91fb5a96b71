// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package management

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
	"k8s.io/client-go/kubernetes"
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

// watchAddresses watches the addresses of client until the test ends.
func watchAddresses(t *testing.T, client kubernetes.Interface) *networks.Management {
	t.Helper()
	a, err := New(client)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { a.Run(ctx); close(ended) }()
	t.Cleanup(func() { stop(); <-ended })
	return a.Networks
}

// checkAll checks which addresses may be connected to.
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

func TestAddresses_DenyAddressesOfTheManagementCluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(
			&networkingv1.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{Name: "kubernetes"}, Spec: networkingv1.ServiceCIDRSpec{CIDRs: []string{"10.96.0.0/12", "fd00:96::/108"}}},
			nodeAt("a", []string{"10.244.0.0/24", "fd00:244::/64"}, "192.0.2.10", "a.example.com"),
			nodeAt("b", nil, "192.0.2.11", "2001:db8::11"))
		addresses := watchAddresses(t, client)
		probes := networks.Networks{Management: addresses}
		// The flag allows the address of a workload cluster that is the management cluster itself.
		workloads := networks.Networks{Management: addresses, Allowed: []netip.Prefix{netip.MustParsePrefix("192.0.2.10/32")}}
		checkAll(t, &probes, "192.0.2.12 10.244.1.1 2001:db8::1 10.95.0.1",
			"10.96.0.1 fd00:96::1 192.0.2.10 192.0.2.11 2001:db8::11 10.244.0.7 fd00:244::7 169.254.169.254")
		checkAll(t, &workloads, "192.0.2.10", "192.0.2.11 192.0.2.12 10.96.0.1")

		_, err := client.CoreV1().Nodes().Create(t.Context(), nodeAt("c", []string{"10.244.1.0/24"}, "192.0.2.12"), metav1.CreateOptions{})
		if err == nil {
			err = client.CoreV1().Nodes().Delete(t.Context(), "b", metav1.DeleteOptions{})
		}
		if err != nil {
			t.Fatal(err)
		}
		checkAll(t, &probes, "192.0.2.11 2001:db8::11", "192.0.2.12 10.244.1.1 192.0.2.10")
	})
}

func TestAddresses_AreDeniedWhileTheManagementClusterCannotBeRead(t *testing.T) {
	// In real time, because the library limits the rate of error logs for the whole process.
	client := fake.NewClientset()
	client.PrependReactor("list", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(corev1.Resource("nodes"), "", nil)
	})
	n := networks.Networks{Management: watchAddresses(t, client)}
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		last = n.Check(netip.MustParseAddr("192.0.2.1"))
		return apierrors.IsForbidden(last) && strings.Contains(last.Error(), "--probe-networks"), nil
	})
	if err != nil {
		t.Errorf("%v, want an error with the cause and the flags", last)
	}
}
