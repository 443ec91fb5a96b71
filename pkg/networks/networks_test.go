// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package networks

import (
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"
)

// managementCluster returns a Management with a Service range and a node with Pods.
func managementCluster() *ManagementAddresses {
	m := NewManagementAddresses("ServiceCIDRs", "Nodes")
	m.Set("ServiceCIDR kubernetes", netip.MustParsePrefix("10.96.0.0/12"), netip.MustParsePrefix("fd00:96::/108"))
	m.Set("Node a", netip.MustParsePrefix("192.0.2.10/32"), netip.MustParsePrefix("10.244.1.0/24"))
	m.MarkRead("ServiceCIDRs", nil)
	m.MarkRead("Nodes", nil)
	return m
}

func TestNetworks_DenyAddressesOfTheServerAndOfItsCluster(t *testing.T) {
	byDefault := Networks{Management: managementCluster()}
	unread := Networks{Management: NewManagementAddresses("Nodes")}
	forbidden := Networks{Management: NewManagementAddresses("Nodes", "ServiceCIDRs")}
	forbidden.Management.MarkRead("Nodes", errors.New("nodes is forbidden"))
	allowed := Networks{
		Allowed:    []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("10.96.0.10/32"), netip.MustParsePrefix("192.0.2.10/32")},
		Management: forbidden.Management,
	}
	for _, tc := range []struct {
		of        *Networks
		addresses string
		want      string
	}{
		{&byDefault, "192.0.2.1 192.0.2.11 2001:db8::1 10.95.255.255 10.244.2.1 100.100.100.201 fd00::1 64:ff9b::c000:201", ""},
		{&byDefault, "127.0.0.1 ::1 ::ffff:127.0.0.1 0.0.0.0 :: 0.1.2.3 224.0.0.1 ff02::1 255.255.255.255 169.254.1.1 fe80::1 fe80::1%eth0", reasonDenied},
		{&byDefault, "169.254.169.254 169.254.170.2 100.100.100.200 168.63.129.16 192.0.0.192 fd00:ec2::254 fd00:ec2::23 fd00:42::42 fd20:ce::254", reasonDenied},
		{&byDefault, "10.96.0.1 ::ffff:10.96.0.1 fd00:96::1 192.0.2.10 10.244.1.7", reasonDenied},
		{&byDefault, "64:ff9b::a9fe:a9fe 64:ff9b::10.96.0.1 2002:7f00:1:: 2002:c000:20a::5", reasonDenied},
		{&unread, "192.0.2.1", ErrNotRead.Error()},
		{&unread, "127.0.0.1", reasonDenied},
		{&forbidden, "192.0.2.1", "nodes is forbidden"},
		{&allowed, "127.0.0.1 10.96.0.10 192.0.2.10 ::ffff:192.0.2.10", ""},
		{&allowed, "10.96.0.11 192.0.2.1 169.254.169.254", reasonNotAllowed},
	} {
		for _, address := range strings.Fields(tc.addresses) {
			err := tc.of.Check(netip.MustParseAddr(address))
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: %v, want %q", address, err, tc.want)
			}
			var deny *DeniedError
			if errors.As(err, &deny) != (tc.want == reasonDenied || tc.want == reasonNotAllowed) {
				t.Errorf("%s: %T is the wrong type of error", address, err)
			}
		}
	}
}

func TestNetworks_FollowObjectsOfTheManagementCluster(t *testing.T) {
	n, m := Networks{Management: managementCluster()}, netip.MustParseAddr("192.0.2.10")
	n.Management.Set("Node a", netip.MustParsePrefix("192.0.2.11/32"))
	if err := n.Check(m); err != nil {
		t.Errorf("the previous address of a node: %v", err)
	}
	if err := n.Check(m.Next()); err == nil {
		t.Error("the current address of a node is allowed")
	}
	n.Management.Set("Node a")
	if err := n.Check(m.Next()); err != nil {
		t.Errorf("the address of a node that was deleted: %v", err)
	}
}

// A dialer connects to any resolved address of a name except denied ones.
func TestNetworks_AreCheckedAfterANameIsResolved(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	for _, tc := range []struct {
		allowed []netip.Prefix
		want    bool
	}{
		{nil, false},
		{[]netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}, false},
		{[]netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, true},
	} {
		n := Networks{Allowed: tc.allowed}
		dialer := net.Dialer{Control: n.Control}
		conn, err := dialer.DialContext(t.Context(), "tcp", net.JoinHostPort("localhost", port))
		if err == nil {
			_ = conn.Close()
		}
		if (err == nil) != tc.want {
			t.Errorf("allowed %v: %v, want a connection %t", tc.allowed, err, tc.want)
		}
	}
}
