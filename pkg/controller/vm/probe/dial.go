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

// dialer returns a function that connects to an address that allowed permits, and closes the
// connection.
func dialer(allowed *networks.Networks) func(ctx context.Context, to netip.AddrPort) error {
	// What a dialer does for a connection that is used is left out.
	d := net.Dialer{KeepAlive: -1, FallbackDelay: -1, Control: allowed.Control}
	return func(ctx context.Context, to netip.AddrPort) error {
		// Not DialTCP: it binds an address of our own first, for which the kernel looks in vain
		// when some ten thousand connections have been closed in the last minute.
		conn, err := d.DialContext(ctx, "tcp", to.String())
		if err != nil {
			return err
		}
		_ = conn.Close() // it is open: that was the question
		return nil
	}
}

// ours are the errors of a connection that say nothing about the other side.
var ours = []error{
	syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.EAGAIN,
	syscall.EADDRNOTAVAIL, syscall.EADDRINUSE, syscall.EPERM, syscall.EACCES,
}

// judge says what the error of a connection means. known is false if it means nothing.
func judge(t *Target, err error) (o outcome, known bool) {
	if err == nil {
		return outcome{ready: true}, true
	}
	for _, e := range ours {
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
		o.message = fmt.Sprintf("no route leads to %s", t.Address.Addr())
	default:
		var number syscall.Errno
		if !errors.As(err, &number) {
			return o, false
		}
		o.message = fmt.Sprintf("connecting to %s: %s", t.Address, number.Error())
	}
	return o, true
}
