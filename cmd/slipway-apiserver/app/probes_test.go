// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/slipway-dev/slipway/pkg/networks"
)

func TestProbesLeaveServicesOfTheHostClusterAlone(t *testing.T) {
	host := fake.NewClientset(
		&networkingv1.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{Name: "kubernetes"}, Spec: networkingv1.ServiceCIDRSpec{CIDRs: []string{"10.96.0.0/12", "fd00:96::/108"}}},
		&networkingv1.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{Name: "more"}, Spec: networkingv1.ServiceCIDRSpec{CIDRs: []string{"10.240.0.0/16"}}})
	ranges, err := serviceRanges(t.Context(), host)
	var got []string
	for _, r := range ranges {
		got = append(got, r.String())
	}
	if diff := cmp.Diff([]string{"10.96.0.0/12", "fd00:96::/108", "10.240.0.0/16"}, got); err != nil || diff != "" {
		t.Errorf("ranges (-want +got), %v:\n%s", err, diff)
	}
}

func TestProbesConnectToNothingWhileTheRangesOfServicesAreNotKnown(t *testing.T) {
	host := fake.NewClientset()
	host.PrependReactor("list", "servicecidrs", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(networkingv1.Resource("servicecidrs"), "", nil)
	})
	_, err := serviceRanges(t.Context(), host)
	if err == nil || !strings.Contains(err.Error(), "--probe-networks") || !apierrors.IsForbidden(err) {
		t.Errorf("the error is %v, want one that wraps the cause and names the flag that helps", err)
	}
}

func TestNetworksOfProbesAreParsed(t *testing.T) {
	o := ProbeOptions{Networks: []string{"10.0.0.0/8", "fd00::/8"}}
	got, err := o.networks()
	if err != nil || len(got) != 2 || got[0] != netip.MustParsePrefix("10.0.0.0/8") || got[1] != netip.MustParsePrefix("fd00::/8") {
		t.Errorf("networks %v, %v", got, err)
	}
}

func TestNetworksThatAreNamedCountInsteadOfThoseOfServices(t *testing.T) {
	services, named := []netip.Prefix{netip.MustParsePrefix("10.96.0.0/12")}, []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	asked := 0
	ranges := func() ([]netip.Prefix, error) { asked++; return services, nil }
	if diff := cmp.Diff(networks.Networks{Allowed: named}, reachable(t.Context(), named, ranges, ""), cmpopts.EquateComparable(netip.Prefix{})); diff != "" || asked != 0 {
		t.Errorf("named (-want +got), asked %d times for the others:\n%s", asked, diff)
	}
	if diff := cmp.Diff(networks.Networks{Denied: services}, reachable(t.Context(), nil, ranges, ""), cmpopts.EquateComparable(netip.Prefix{})); diff != "" {
		t.Errorf("not named (-want +got):\n%s", diff)
	}
}
