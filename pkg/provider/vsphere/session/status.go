// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"net/http"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/vimfault"
)

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
		return nil, &vimfault.UnavailableError{StatusCode: res.StatusCode}
	}
	return res, nil
}
