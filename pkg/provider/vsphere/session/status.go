// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"fmt"
	"net/http"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/vimfault"
)

// statusTransport turns answers that mean "unavailable" into errors with a
// type, which neither client of the library does, and redirects into errors.
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
		return nil, &vimfault.UnavailableError{StatusCode: res.StatusCode}
	}
	// vCenter sends no redirects, and the library would follow one with what we log in with,
	// to the same host also without TLS.
	if to, err := res.Location(); err == nil && res.StatusCode/100 == 3 {
		_ = res.Body.Close()
		return nil, fmt.Errorf("vCenter redirects to %s://%s, and no redirect is followed", to.Scheme, to.Host)
	}
	return res, nil
}
