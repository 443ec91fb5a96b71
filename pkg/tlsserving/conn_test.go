// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package tlsserving

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/http2"
)

// written is a connection that keeps what is written.
type written struct {
	secured
	all bytes.Buffer
}

// Write implements net.Conn.
func (w *written) Write(p []byte) (int, error) { return w.all.Write(p) }

// spoken is what a server says: its settings, headers in two frames, a body in three, one of them
// empty, and a ping.
func spoken(t *testing.T) []byte {
	t.Helper()
	var all bytes.Buffer
	f := http2.NewFramer(&all, nil)
	for _, err := range []error{
		f.WriteSettings(http2.Setting{ID: http2.SettingMaxFrameSize, Val: 1 << 20}),
		f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte("half of the")}), f.WriteContinuation(1, true, []byte("headers")),
		f.WriteData(1, false, bytes.Repeat([]byte("x"), 300)), f.WriteData(1, false, nil), f.WriteData(1, true, []byte("end")),
		f.WritePing(true, [8]byte{1}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return all.Bytes()
}

// heard are the frames that a client reads.
func heard(t *testing.T, all *bytes.Buffer) []string {
	t.Helper()
	var said []string
	f := http2.NewFramer(nil, all)
	for all.Len() > 0 {
		frame, err := f.ReadFrame()
		if err != nil {
			t.Fatalf("after %v: %v", said, err)
		}
		said = append(said, fmt.Sprintf("%v %d", frame.Header().Type, frame.Header().Length))
	}
	return said
}

// Wherever the server is in what it says, and in whatever pieces it says it.
func TestClientsArePartedFromOnceAndBetweenTwoFrames(t *testing.T) {
	t.Parallel()
	all := spoken(t)
	want := []string{"SETTINGS 6", "HEADERS 11", "CONTINUATION 7", "DATA 300", "DATA 0", "DATA 3", "PING 8"}
	for _, piece := range []int{1, 2, 9, 10, 100, len(all)} {
		for at := 0; at <= len(all); at++ {
			w := &written{}
			c := &conn{secured: w}
			if at == 0 {
				c.part()
			}
			for from := 0; from < len(all); from += piece {
				to := min(from+piece, len(all))
				if _, err := c.Write(all[from:to]); err != nil {
					t.Fatal(err)
				}
				if from < at && at <= to {
					c.part()
				}
			}
			said := heard(t, &w.all)
			told := slices.Index(said, "GOAWAY 8")
			if told < 1 {
				t.Fatalf("parted from at byte %d, in pieces of %d, a client hears %v", at, piece, said)
			}
			if diff := cmp.Diff(want, slices.Delete(said, told, told+1)); diff != "" {
				t.Fatalf("parted from at byte %d, in pieces of %d, besides it a client hears (-want +got):\n%s", at, piece, diff)
			}
		}
	}
}

// The number in a GOAWAY must not be higher than in one before it (RFC 9113, 6.8).
func TestAConnectionThatEndsByItselfIsNotPartedFrom(t *testing.T) {
	t.Parallel()
	w := &written{}
	c := &conn{secured: w}
	f := http2.NewFramer(c, nil)
	for _, err := range []error{f.WriteSettings(), f.WriteGoAway(1, http2.ErrCodeNo, nil)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	c.part()
	if err := f.WritePing(true, [8]byte{1}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"SETTINGS 0", "GOAWAY 8", "PING 8"}, heard(t, &w.all)); diff != "" {
		t.Errorf("a client hears (-want +got):\n%s", diff)
	}
}
