// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"errors"
	"io"
	"net"
	"slices"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fakeConns is a listener that accepts numbered connections, and fails before some of them.
type fakeConns struct {
	net.Listener
	exhaustedBefore []int
	all             []*fakeConn
	total           int
}

type fakeConn struct {
	net.Conn
	closed bool
}

func (c *fakeConn) Write(data []byte) (int, error) { return len(data), nil }

func (c *fakeConn) Close() error {
	c.closed = true
	return nil
}

func (f *fakeConns) Accept() (net.Conn, error) {
	if len(f.all) == f.total {
		return nil, io.EOF
	}
	if i := slices.Index(f.exhaustedBefore, len(f.all)); i >= 0 {
		f.exhaustedBefore = slices.Delete(f.exhaustedBefore, i, i+1)
		return nil, &net.OpError{Op: "accept", Net: "tcp", Err: syscall.EMFILE}
	}
	f.all = append(f.all, &fakeConn{})
	return f.all[len(f.all)-1], nil
}

func (f *fakeConns) open() (open []int) {
	for i, c := range f.all {
		if !c.closed {
			open = append(open, i)
		}
	}
	return open
}

func TestLimitConnections_ClosesTheOldestSilentOne(t *testing.T) {
	t.Parallel()
	const total = 5
	for name, tc := range map[string]struct {
		maxSilent, room int
		// answered are the connections on which the server answers the handshake.
		answered, exhaustedBefore []int
		open                      []int
		err                       error
	}{
		"few":                                       {maxSilent: total, room: total, open: []int{0, 1, 2, 3, 4}},
		"many are silent":                           {maxSilent: 2, room: total, open: []int{3, 4}},
		"many were answered":                        {maxSilent: 2, room: total, answered: []int{0, 1, 2}, open: []int{0, 1, 2, 3, 4}},
		"few descriptors":                           {maxSilent: total, room: 2, open: []int{3, 4}},
		"few descriptors, none silent":              {maxSilent: total, room: 2, answered: []int{0, 1}, open: []int{0, 1}},
		"few descriptors, one silent":               {maxSilent: total, room: 2, answered: []int{1}, open: []int{1, 4}},
		"no descriptor to accept with":              {maxSilent: total, room: total, exhaustedBefore: []int{2, 2}, open: []int{2, 3, 4}},
		"no descriptor to accept with, none silent": {maxSilent: total, room: total, answered: []int{0}, exhaustedBefore: []int{1}, open: []int{0}, err: syscall.EMFILE},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conns := &fakeConns{total: total, exhaustedBefore: tc.exhaustedBefore}
			l := &limitedListener{Listener: conns, maxSilent: tc.maxSilent, fits: func(net.Conn) bool { return len(conns.open()) <= tc.room }}
			var err error
			for c := net.Conn(nil); err == nil; {
				if c, err = l.Accept(); err == nil && slices.Contains(tc.answered, len(conns.all)-1) {
					if _, err := c.Write([]byte("hello")); err != nil {
						t.Fatal(err)
					}
				}
			}
			if want := tc.err; !errors.Is(err, io.EOF) && !errors.Is(err, want) || want != nil && !errors.Is(err, want) {
				t.Errorf("Accept returns %v, want %v", err, want)
			}
			if diff := cmp.Diff(tc.open, conns.open()); diff != "" {
				t.Errorf("open connections (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLimitConnections_LeavesFileDescriptors(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		descriptor, limit uint64
		want              bool
	}{
		"many are left":                           {100, 2048, true},
		"as many as are reserved":                 {2047 - reservedFiles, 2048, true},
		"one less":                                {2048 - reservedFiles, 2048, false},
		"none is left":                            {2047, 2048, false},
		"three quarters of a low limit":           {149, 200, true},
		"more than three quarters of a low limit": {150, 200, false},
		"the limit was lowered to two":            {45, 47, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := leavesFiles(tc.descriptor, tc.limit); got != tc.want {
				t.Errorf("descriptor %d of %d leaves enough: %t, want %t", tc.descriptor, tc.limit, got, tc.want)
			}
		})
	}
}
