// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pages reads pages of a measured server, mainly its metrics.
//
// Guarantee: all counts are those of the server.
package pages

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"k8s.io/client-go/rest"
)

// Source reads pages of a server.
type Source struct {
	// Client and URL access the server.
	Client *http.Client
	URL    string
}

// NewSource reads pages of the server that config reaches.
func NewSource(config *rest.Config) (Source, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return Source{}, fmt.Errorf("making the client of %s: %w", config.Host, err)
	}
	return Source{Client: client, URL: config.Host}, nil
}

// Read returns a page.
func (s Source) Read(ctx context.Context, path string) ([]byte, error) {
	url := s.URL + path
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := s.Client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", url, err)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("GET %s: %s: %.300s", url, resp.Status, body)
	}
	return body, nil
}

// KeepProfile writes a profile of the server to a file. The profile is a name below /debug/pprof with its parameters.
func (s Source) KeepProfile(ctx context.Context, profile, file string) error {
	data, err := s.Read(ctx, "/debug/pprof/"+profile)
	if err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o600)
}

// Metrics reads the metrics of the server by their names.
func (s Source) Metrics(ctx context.Context) (map[string]*dto.MetricFamily, error) {
	page, err := s.Read(ctx, "/metrics")
	if err != nil {
		return nil, err
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(page))
	if err != nil {
		return nil, fmt.Errorf("reading the metrics of %s: %w", s.URL, err)
	}
	return families, nil
}

// Heap returns the heap of the server after a collection, in bytes.
func (s Source) Heap(ctx context.Context) (float64, error) {
	// Two collections are necessary: objects whose finalizers ran in the first are freed by the second.
	for range 2 {
		if _, err := s.Read(ctx, "/debug/pprof/heap?gc=1"); err != nil {
			return 0, err
		}
	}
	families, err := s.Metrics(ctx)
	if err != nil {
		return 0, err
	}
	for _, found := range families["go_memstats_heap_alloc_bytes"].GetMetric() {
		return found.GetGauge().GetValue(), nil
	}
	return 0, fmt.Errorf("%s does not report the size of its heap", s.URL)
}

// Label returns the value of a label of a metric.
func Label(m *dto.Metric, name string) string {
	for _, l := range m.GetLabel() {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}

// Request is a kind of request to an API server.
type Request struct {
	// Verb in capitals, Resource with its subresource, and Code of the answer.
	Verb, Resource, Code string
}

// Requests returns the requests that an API server has answered.
func Requests(families map[string]*dto.MetricFamily) map[Request]float64 {
	found := map[Request]float64{}
	for _, m := range families["apiserver_request_total"].GetMetric() {
		r := Request{Verb: Label(m, "verb"), Resource: Label(m, "resource"), Code: Label(m, "code")}
		if sub := Label(m, "subresource"); sub != "" {
			r.Resource += "/" + sub
		}
		found[r] += m.GetCounter().GetValue()
	}
	return found
}

// Minus returns the difference of a and b.
func Minus[K comparable](a, b map[K]float64) map[K]float64 {
	d := map[K]float64{}
	for k, v := range a {
		if v -= b[k]; v != 0 {
			d[k] = v
		}
	}
	return d
}
