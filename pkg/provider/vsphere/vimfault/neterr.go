// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vimfault

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"

	"github.com/vmware/govmomi/vapi/rest"
)

// UnavailableError is an answer of a vCenter, or of a proxy before it, that
// starts, stops or is overloaded.
type UnavailableError struct {
	// StatusCode is the HTTP status: 429, 502, 503 or 504.
	StatusCode int
}

// Error implements error.
func (e *UnavailableError) Error() string {
	return fmt.Sprintf("vCenter is unavailable: HTTP status %d %s", e.StatusCode, http.StatusText(e.StatusCode))
}

// Unreachable reports whether err is a failure of the network or of the server's
// availability that can pass by itself. A certificate that is not trusted is none.
func Unreachable(err error) bool {
	if err == nil || Untrusted(err) {
		return false
	}
	for _, target := range []error{
		io.EOF, io.ErrUnexpectedEOF, net.ErrClosed,
		syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.ECONNABORTED, syscall.EPIPE,
		syscall.ETIMEDOUT, syscall.EHOSTUNREACH, syscall.ENETUNREACH,
	} {
		if errors.Is(err, target) {
			return true
		}
	}
	var unavailable *UnavailableError
	if errors.As(err, &unavailable) {
		return true
	}
	var ne net.Error
	return errors.As(err, &ne) && ne.Timeout()
}

// Untrusted reports whether err is about a certificate that is not trusted.
func Untrusted(err error) bool {
	var unknownCA x509.UnknownAuthorityError
	var badHost x509.HostnameError
	var invalid x509.CertificateInvalidError
	return errors.As(err, &unknownCA) || errors.As(err, &badHost) || errors.As(err, &invalid)
}

// HasStatus reports whether err is an answer of the REST API with the HTTP status. It
// looks at every depth; the library's own predicate looks at the outermost error only.
func HasStatus(err error, code int) bool {
	for e := err; e != nil; e = errors.Unwrap(e) {
		if rest.IsStatusError(e, code) {
			return true
		}
	}
	return false
}
