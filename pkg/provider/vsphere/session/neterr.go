// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"
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

// statusTransport turns answers that mean "unavailable" into errors with a
// type, which neither client of the library does.
type statusTransport struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t statusTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	switch res.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		_ = res.Body.Close()
		return nil, &UnavailableError{StatusCode: res.StatusCode}
	}
	return res, nil
}

// IsTemporary reports whether err is a failure of the network or of the
// server's availability that can pass by itself. A certificate that is not
// trusted is none.
func IsTemporary(err error) bool {
	var unknownCA x509.UnknownAuthorityError
	var badHost x509.HostnameError
	var invalid x509.CertificateInvalidError
	switch {
	case err == nil, errors.Is(err, ErrThumbprintMismatch),
		errors.As(err, &unknownCA), errors.As(err, &badHost), errors.As(err, &invalid):
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
