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

// UnavailableError is returned when vCenter, or a proxy in front of it, is starting, stopping or
// overloaded.
type UnavailableError struct {
	// StatusCode is the HTTP status: 429, 502, 503 or 504.
	StatusCode int
}

// Error implements error.
func (e *UnavailableError) Error() string {
	return fmt.Sprintf("vCenter is unavailable: HTTP status %d %s", e.StatusCode, http.StatusText(e.StatusCode))
}

// IsUnreachable reports whether err is a temporary failure of the network or the server. An untrusted
// certificate is not temporary.
func IsUnreachable(err error) bool {
	if err == nil || IsUntrusted(err) {
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

// IsUntrusted reports whether err is caused by an untrusted certificate.
func IsUntrusted(err error) bool {
	var unknownCA x509.UnknownAuthorityError
	var badHost x509.HostnameError
	var invalid x509.CertificateInvalidError
	return errors.As(err, &unknownCA) || errors.As(err, &badHost) || errors.As(err, &invalid)
}

// HasStatus reports whether err is, or wraps, a REST response with the HTTP status. govmomi's own
// function checks the outermost error only.
func HasStatus(err error, code int) bool {
	for e := err; e != nil; e = errors.Unwrap(e) {
		if rest.IsStatusError(e, code) {
			return true
		}
	}
	return false
}
