// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slipway-dev/slipway/test/prometheus"
	"github.com/slipway-dev/slipway/test/testenv"
)

// mayBeEmpty are the panels whose queries have no result in a healthy cluster, with the reason.
var mayBeEmpty = map[string]string{
	"Slipway / vCenter: Failed calls": "every call succeeds",
}

// startPrometheus starts a Prometheus with the alerting rules that scrapes the test's environment every second. It
// returns nil if Prometheus is not installed.
func startPrometheus(t *testing.T) *prometheus.Server {
	t.Helper()
	config, err := testenv.Of(t).DirectConfig("prometheus", "system:masters")
	if err != nil {
		t.Fatal(err)
	}
	rules, err := filepath.Abs(monitoring + "alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	server, err := prometheus.Start(t.Context(), prometheus.Options{Root: "../..", Dir: t.TempDir(), Server: config, Interval: time.Second, Rules: rules})
	if errors.Is(err, prometheus.ErrMissing) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	testenv.Eventually(t, testenv.Short, "Prometheus reads the server", func() error {
		if got, err := server.Now(t.Context(), "up == 1"); err != nil || len(got) == 0 {
			return fmt.Errorf("up is %s, %v", got, err)
		}
		return nil
	})
	return server
}

// answers fails for dashboard queries without a result, and for alerts that cannot be evaluated or that fire.
func answers(t *testing.T, p *prometheus.Server, all []watched) {
	t.Helper()
	for _, w := range all {
		if strings.HasPrefix(w.where, "alert ") {
			continue
		}
		if _, empty := mayBeEmpty[w.where]; empty {
			continue
		}
		testenv.Eventually(t, testenv.Short, "Prometheus answers "+w.where+" ("+w.expr+")", func() error {
			if got, err := p.Now(t.Context(), w.expr); err != nil || len(got) == 0 {
				return fmt.Errorf("the answer is %s, %v", got, err)
			}
			return nil
		})
	}
	var rules struct {
		Groups []struct {
			Rules []struct{ Name, Health, LastError, State string }
		}
	}
	if err := p.Get(t.Context(), "/api/v1/rules", &rules); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			n++
			if r.Health != "ok" || r.State != "inactive" {
				t.Errorf("alert %s: health %s, %s, %q", r.Name, r.Health, r.State, r.LastError)
			}
		}
	}
	if want := len(alertQueries(t)); n != want {
		t.Errorf("Prometheus evaluates %d rules, want %d", n, want)
	}
}
