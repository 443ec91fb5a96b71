// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"fmt"
	"net/http"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/vimfault"
)

// statusTransport converts responses that mean "unavailable" into UnavailableError, because
// govmomi's clients do not. It also converts redirects into errors.
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
	// vCenter does not send redirects. govmomi would follow one and send the credentials along, on the same
	// host even without TLS.
	if to, err := res.Location(); err == nil && res.StatusCode/100 == 3 {
		_ = res.Body.Close()
		return nil, fmt.Errorf("vCenter redirected the request to %s://%s: redirects are not followed", to.Scheme, to.Host)
	}
	return res, nil
}
