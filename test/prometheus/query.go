// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package prometheus

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Sample is a value at a time. Both are floats as Prometheus has them: seconds since 1970, and a
// value that may not be a number.
type Sample struct{ At, Value float64 }

// Series are the samples of one set of labels.
type Series struct {
	Labels  map[string]string
	Samples []Sample
}

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

// Now answers a query with a sample for each set of labels.
func (s *Server) Now(ctx context.Context, query string) ([]Series, error) {
	return s.series(ctx, "/api/v1/query", url.Values{"query": {query}})
}

// At answers a query as Now does, of another time.
func (s *Server) At(ctx context.Context, query string, at time.Time) ([]Series, error) {
	return s.series(ctx, "/api/v1/query", url.Values{"query": {query}, "time": {unix(at)}})
}

// Range answers a query for every step of a time.
func (s *Server) Range(ctx context.Context, query string, from, to time.Time, step time.Duration) ([]Series, error) {
	return s.series(ctx, "/api/v1/query_range", url.Values{"query": {query}, "start": {unix(from)}, "end": {unix(to)}, "step": {strconv.FormatFloat(step.Seconds(), 'f', -1, 64)}})
}

func unix(t time.Time) string { return strconv.FormatFloat(float64(t.UnixMilli())/1000, 'f', 3, 64) }

func (s *Server) series(ctx context.Context, path string, values url.Values) ([]Series, error) {
	var data struct {
		Result []struct {
			Metric map[string]string
			Value  *sample
			Values []sample
		}
	}
	if err := s.Get(ctx, path+"?"+values.Encode(), &data); err != nil {
		return nil, fmt.Errorf("%s: %w", values.Get("query"), err)
	}
	var all []Series
	for _, r := range data.Result {
		one := Series{Labels: r.Metric}
		if r.Value != nil {
			r.Values = append(r.Values, *r.Value)
		}
		for _, v := range r.Values {
			one.Samples = append(one.Samples, Sample(v))
		}
		all = append(all, one)
	}
	return all, nil
}

// sample is one as the API writes it: [time, "value"].
type sample Sample

// UnmarshalJSON reads one.
func (s *sample) UnmarshalJSON(data []byte) error {
	var value string
	if err := json.Unmarshal(data, &[]any{&s.At, &value}); err != nil {
		return err
	}
	var err error
	s.Value, err = strconv.ParseFloat(value, 64)
	return err
}
