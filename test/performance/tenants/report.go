// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/slipway-dev/slipway/test/localcluster"
	"github.com/slipway-dev/slipway/test/performance/pages"
	"github.com/slipway-dev/slipway/test/performance/proc"
)

const (
	// sampleInterval is the pause between two measurements.
	sampleInterval = time.Second
	metricsTimeout = 10 * time.Second
)

// measured has the largest values of the server.
type measured struct {
	store, anonymous, resident float64
	// pid is the process ID of the server. ended is true if the server has another process or none.
	pid     int
	ended   bool
	samples int
}

// follow measures until ctx is done. If the server does not answer, only its process is measured.
func (m *measured) follow(ctx context.Context, cluster *localcluster.Cluster, source pages.Source) {
	m.pid = cluster.PID("slipway-apiserver")
	for reported := time.Now(); pause(ctx, sampleInterval) == nil; {
		m.ended = m.ended || cluster.PID("slipway-apiserver") != m.pid
		anonymous, file, err := proc.Resident(m.pid)
		if err != nil {
			continue
		}
		m.anonymous, m.resident = max(m.anonymous, anonymous), max(m.resident, anonymous+file)
		limited, cancel := context.WithTimeout(ctx, metricsTimeout)
		families, err := source.Metrics(limited)
		cancel()
		if quota := gauge(families, "slipway_etcd_quota_bytes"); err == nil && quota > 0 {
			m.samples++
			m.store = max(m.store, gauge(families, "slipway_etcd_size_bytes")/quota)
		}
		if time.Since(reported) > time.Minute {
			reported = time.Now()
			progress("store at most %.0f %%, resident memory at most %.0f MiB", 100*m.store, m.anonymous/(1<<20))
		}
	}
}

func gauge(families map[string]*dto.MetricFamily, name string) float64 {
	for _, found := range families[name].GetMetric() {
		return found.GetGauge().GetValue()
	}
	return 0
}

// report prints the tables, and returns an error if a check failed.
func (m *measured) report(s settings, bad, good []*tenant, late []string) error {
	sent, refused, failed := 0, 0, 0
	var unexpected []string
	for _, t := range good {
		for _, counts := range t.answers.counts {
			for answer, n := range counts {
				switch sent += n; {
				case answer == "429" || answer == "503 Retry-After":
					refused += n
				case answer[0] != '2':
					failed += n
				}
			}
		}
		unexpected = append(unexpected, t.answers.unexpected...)
	}
	const mib = 1 << 20
	checks := []struct {
		what, result string
		ok           bool
	}{
		{fmt.Sprintf("requests of the other %d tenants fail only with 429, or 503 and Retry-After", len(good)), fmt.Sprintf("%d sent, %d refused so, %d failed otherwise", sent, refused, failed), failed == 0 && sent > 0},
		{fmt.Sprintf("store below %.0f %% of %d MiB", 100*mostStore, s.quota/mib), fmt.Sprintf("at most %.0f %%", 100*m.store), m.store < mostStore && m.samples > 0},
		{fmt.Sprintf("resident memory below %d MiB", mostResident/mib), fmt.Sprintf("at most %.0f MiB, with mapped files %.0f MiB", m.anonymous/mib, m.resident/mib), m.anonymous > 0 && m.anonymous < mostResident},
		{"the server does not end", fmt.Sprintf("ended: %t", m.ended), !m.ended},
		{fmt.Sprintf("their %d virtual machines run", 2*len(good)), fmt.Sprintf("%d do not", len(late)), len(late) == 0},
	}
	fmt.Printf("| check, %d hostile of %d tenants for %s | result | |\n| --- | --- | --- |\n", len(bad), len(bad)+len(good), s.duration)
	var errs []error
	for _, c := range checks {
		verdict := "passed"
		if !c.ok {
			verdict = "FAILED"
			errs = append(errs, fmt.Errorf("%s: %s", c.what, c.result))
		}
		fmt.Printf("| %s | %s | %s |\n", c.what, c.result, verdict)
	}
	fmt.Print("\n| attack | answers |\n| --- | --- |\n")
	attacks := map[string]map[string]int{}
	for _, t := range bad {
		for what, counts := range t.answers.counts {
			if attacks[what] == nil {
				attacks[what] = map[string]int{}
			}
			for answer, n := range counts {
				attacks[what][answer] += n
			}
		}
	}
	for _, t := range bad {
		unexpected = append(unexpected, t.answers.unexpected...)
	}
	for _, what := range slices.Sorted(maps.Keys(attacks)) {
		var texts []string
		for _, answer := range slices.Sorted(maps.Keys(attacks[what])) {
			texts = append(texts, fmt.Sprintf("%d × %s", attacks[what][answer], answer))
		}
		fmt.Printf("| %s | %s |\n", what, strings.Join(texts, ", "))
	}
	for _, text := range append(unexpected, late...) {
		progress("%s", text)
	}
	return errors.Join(errs...)
}
