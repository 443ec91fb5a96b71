// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package prometheus

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
)

// Get reads from the API of Prometheus.
func (s *Server) Get(ctx context.Context, path string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+path, nil)
	if err != nil {
		return fmt.Errorf("asking Prometheus: %w", err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("asking Prometheus: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	var got struct {
		Status, Error string
		Data          json.RawMessage
	}
	if err := json.NewDecoder(answer.Body).Decode(&got); err != nil {
		return fmt.Errorf("reading the answer of Prometheus: %w", err)
	}
	if got.Status != "success" {
		return fmt.Errorf("the answer of Prometheus: %s", got.Error)
	}
	return json.Unmarshal(got.Data, into)
}

// Now returns the series that a query selects or computes at this time.
func (s *Server) Now(ctx context.Context, query string) ([]json.RawMessage, error) {
	var data struct{ Result []json.RawMessage }
	if err := s.Get(ctx, "/api/v1/query?"+url.Values{"query": {query}}.Encode(), &data); err != nil {
		return nil, fmt.Errorf("%s: %w", query, err)
	}
	return data.Result, nil
}
