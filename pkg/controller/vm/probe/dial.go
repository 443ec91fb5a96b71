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

	"github.com/slipway-dev/slipway/pkg/networks"
)

// dialer returns a function that connects to an address that allowed permits, and closes the connection.
func dialer(allowed *networks.Networks) func(ctx context.Context, to netip.AddrPort) error {
	// Keep-alive and happy eyeballs are disabled, because the connection is not used.
	d := net.Dialer{KeepAlive: -1, FallbackDelay: -1, Control: allowed.Control}
	return func(ctx context.Context, to netip.AddrPort) error {
		// DialTCP is not used because it binds a local address first. After some ten thousand connections have been
		// closed in the last minute, the kernel finds no free one.
		conn, err := d.DialContext(ctx, "tcp", to.String())
		if err != nil {
			return err
		}
		_ = conn.Close() // an open connection is the result
		return nil
	}
}

// localErrors has connection errors with a local cause, which do not depend on the guest.
var localErrors = []error{
	syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.EAGAIN,
	syscall.EADDRNOTAVAIL, syscall.EADDRINUSE, syscall.EPERM, syscall.EACCES,
}

// classifyError returns the result for a connection error. known is false if the error has a local cause.
func classifyError(t *Target, err error) (o outcome, known bool) {
	if err == nil {
		return outcome{ready: true}, true
	}
	for _, e := range localErrors {
		if errors.Is(err, e) {
			return o, false
		}
	}
	var denied *networks.DeniedError
	var unreadable *networks.UnreadableError
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, networks.ErrNotRead):
		return o, false
	case errors.As(err, &denied):
		o.message = denied.Error()
	case errors.As(err, &unreadable):
		o.message = unreadable.Error()
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, syscall.ETIMEDOUT):
		o.message = fmt.Sprintf("%s does not answer within %s", t.Address, t.Timeout)
	case errors.Is(err, syscall.ECONNREFUSED):
		o.message = fmt.Sprintf("%s refuses the connection", t.Address)
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
		o.message = fmt.Sprintf("there is no route to %s", t.Address.Addr())
	default:
		var number syscall.Errno
		if !errors.As(err, &number) {
			return o, false
		}
		o.message = fmt.Sprintf("connecting to %s: %s", t.Address, number.Error())
	}
	return o, true
}
