// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package tlsserving

import (
	"crypto/tls"
	"net"
	"sync"

	"golang.org/x/net/http2"
)

const (
	// headerLength is how long the header of a frame is (RFC 9113, 4.1); it begins with the
	// length of what follows it, in lengthBytes, then its type and its flags.
	headerLength = 9
	lengthBytes  = 3
	// everyStream is the highest number that a stream can have.
	everyStream = 1<<31 - 1
)

// secured is a connection of which HTTP/2 asks how it is secured: a *tls.Conn.
type secured interface {
	net.Conn
	ConnectionState() tls.ConnectionState
}

// conn is a connection of HTTP/2 on which a frame can be put between those of its server.
type conn struct {
	secured

	mu sync.Mutex
	// header is what was written of the header of a frame, had its length; left is what is
	// missing of what follows it.
	header [headerLength]byte
	had    int
	left   int
	// begun is true after the first frame of the server, which has to be the first of all.
	begun bool
	// open is true while headers are written of which more frames follow: none may come between.
	open bool
	// parting is true when the client is to be told, and was not yet. With ended true the server
	// has told it which stream is its last, as it does at the end of a connection by itself: a
	// later GOAWAY may name no higher one.
	parting, ended bool
}

// Write implements net.Conn.
func (c *conn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, err := c.secured.Write(p)
	c.follow(p[:n])
	if err == nil {
		err = c.tell()
	}
	return n, err
}

// part tells the client to open no more streams, between two frames.
func (c *conn) part() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.parting = !c.ended
	_ = c.tell() // of a connection that is broken its server learns by itself
}

// follow goes through what was written, frame by frame.
func (c *conn) follow(p []byte) {
	for len(p) > 0 {
		if c.left > 0 {
			n := min(c.left, len(p))
			c.left -= n
			p = p[n:]
			continue
		}
		n := copy(c.header[c.had:], p)
		c.had += n
		p = p[n:]
		if c.had == headerLength {
			c.had, c.begun = 0, true
			for _, b := range c.header[:lengthBytes] {
				c.left = c.left<<8 | int(b)
			}
			c.note(http2.FrameType(c.header[lengthBytes]), http2.Flags(c.header[lengthBytes+1]))
		}
	}
}

// note takes from the header of a frame whether another one, or a GOAWAY, may follow it.
func (c *conn) note(kind http2.FrameType, flags http2.Flags) {
	switch kind {
	case http2.FrameHeaders, http2.FramePushPromise, http2.FrameContinuation:
		c.open = !flags.Has(http2.FlagHeadersEndHeaders) // the same flag for all three
	case http2.FrameGoAway:
		c.parting, c.ended = false, true
	default: // It says nothing of what may follow.
	}
}

// tell writes a GOAWAY that ends no stream, if it is to be told and nothing is half written.
func (c *conn) tell() error {
	if !c.parting || !c.begun || c.open || c.had > 0 || c.left > 0 {
		return nil
	}
	c.parting = false
	return http2.NewFramer(c.secured, nil).WriteGoAway(everyStream, http2.ErrCodeNo, nil)
}
