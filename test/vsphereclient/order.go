// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphereclient

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Order sends a control request to a simulated vCenter and returns the response. A status other than 200 is an error
// with the beginning of the response.
func Order(ctx context.Context, controlURL, method, path string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute) // many times what any order takes
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, controlURL+path, nil)
	if err != nil {
		return nil, fmt.Errorf("order to the simulated vCenter: %w", err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("order to the simulated vCenter: %w", err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s %s: %s: %.300s", method, path, res.Status, body)
	}
	return body, nil
}
