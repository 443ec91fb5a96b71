// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/slipway-dev/slipway/pkg/networks"
)

// refusing returns an address that refuses connections and that no other process can use.
func refusing(t *testing.T) netip.AddrPort {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	return netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), uint16(name.(*syscall.SockaddrInet4).Port))
}

var onLoopback = networks.Networks{Allowed: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}

func TestDialer_ReportsWhetherAProcessListens(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	open, dial := netip.MustParseAddrPort(listener.Addr().String()), dialer(&onLoopback)
	if o, known := classifyError(&Target{Address: open}, dial(t.Context(), open)); !known || !o.ready {
		t.Errorf("with a listener: %+v, known %t; want ready", o, known)
	}
	closed := refusing(t)
	if o, known := classifyError(&Target{Address: closed}, dial(t.Context(), closed)); !known || o.ready || o.message != closed.String()+" refuses the connection" {
		t.Errorf("without a listener: %+v, known %t; want a refusal", o, known)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if o, known := classifyError(&Target{Address: open}, dial(ctx, open)); known {
		t.Errorf("with a canceled context: %+v is known; want no result", o)
	}
	ctx, cancel = context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	if o, known := classifyError(&Target{Address: open, Timeout: time.Second}, dial(ctx, open)); !known || o.message != open.String()+" does not answer within 1s" {
		t.Errorf("after the timeout: %+v, known %t; want no answer", o, known)
	}
}

func TestProbes_ConnectToNoDeniedAddress(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	open := netip.MustParseAddrPort(listener.Addr().String())
	service := netip.MustParseAddrPort("10.96.0.1:443")
	management, forbidden := networks.NewManagement(), networks.NewManagement("Nodes")
	management.Set("ServiceCIDR kubernetes", netip.MustParsePrefix("10.96.0.0/12"))
	forbidden.SetRead("Nodes", errors.New("nodes is forbidden"))
	for _, tc := range []struct {
		of   networks.Networks
		to   netip.AddrPort
		want string
	}{
		{networks.Networks{}, open, "127.0.0.1 is not an address that the server may connect to"},
		{networks.Networks{Management: management}, service, "10.96.0.1 is not an address that the server may connect to"},
		{onLoopback, service, "10.96.0.1 is not in a network that the server may connect to"},
		{networks.Networks{Management: networks.NewManagement("Nodes")}, service, "unknown"},
		{networks.Networks{Management: forbidden}, service, "cannot check the address, because the Nodes of the management cluster could not be read: nodes is forbidden"},
	} {
		o, known := classifyError(&Target{Address: tc.to}, dialer(&tc.of)(t.Context(), tc.to))
		if !known {
			o.message = "unknown"
		}
		if o.ready || o.message != tc.want {
			t.Errorf("%s: %+v, want %q", tc.to, o, tc.want)
		}
	}
}

func TestClassifyError_ClassifiesConnectionErrors(t *testing.T) {
	at := Target{Address: netip.MustParseAddrPort("10.0.0.5:22"), Timeout: time.Second}
	wrapped := func(e syscall.Errno) error {
		return &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", e)}
	}
	for _, test := range []struct {
		err  error
		want string
	}{
		{wrapped(syscall.ECONNREFUSED), "10.0.0.5:22 refuses the connection"},
		{wrapped(syscall.ETIMEDOUT), "10.0.0.5:22 does not answer within 1s"},
		{wrapped(syscall.EHOSTUNREACH), "there is no route to 10.0.0.5"},
		{wrapped(syscall.ENETUNREACH), "there is no route to 10.0.0.5"},
		{wrapped(syscall.ECONNRESET), "connecting to 10.0.0.5:22: connection reset by peer"},
		{wrapped(syscall.EMFILE), "unknown"},
		{wrapped(syscall.EADDRNOTAVAIL), "unknown"},
		{wrapped(syscall.EPERM), "unknown"},
		{errors.New("anything else"), "unknown"},
	} {
		o, known := classifyError(&at, test.err)
		got := o.message
		if !known {
			got = "unknown"
		}
		if got != test.want {
			t.Errorf("%v: %q, want %q", test.err, got, test.want)
		}
		if o.ready {
			t.Errorf("%v: ready", test.err)
		}
	}
	if o, known := classifyError(&at, fmt.Errorf("wrapped: %w", context.DeadlineExceeded)); !known || o.ready {
		t.Errorf("after a deadline: %+v, known %t", o, known)
	}
}
