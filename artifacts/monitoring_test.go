// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package artifacts

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

func TestAlerts_FireAsExpected(t *testing.T) {
	promtool, err := filepath.Abs("../_bin/promtool")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(promtool); err != nil {
		if promtool, err = exec.LookPath("promtool"); err != nil {
			t.Log("NOT RUN: promtool not found; run hack/install-prometheus.sh")
			return
		}
	}
	for _, args := range [][]string{{"check", "rules", "alerts.yaml"}, {"test", "rules", "alerts_test.yaml"}} {
		cmd := exec.CommandContext(t.Context(), promtool, args...)
		cmd.Dir = "monitoring"
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", args, err, out)
		}
	}
}

// runbooks is the page with a section for each alert.
const runbooks = "https://github.com/slipway-dev/slipway/blob/main/docs/reference/runbooks.md"

func TestAlerts_HaveTestsDescriptionsAndRunbooks(t *testing.T) {
	runbook, err := os.ReadFile("../docs/reference/runbooks.md")
	if err != nil {
		t.Fatal(err)
	}
	var rules struct {
		Groups []struct {
			Rules []struct {
				Alert               string
				Labels, Annotations map[string]string
			}
		}
	}
	var tests struct {
		Tests []struct {
			Tried []struct {
				Alertname string     `json:"alertname"`
				Fires     []struct{} `json:"exp_alerts"`
			} `json:"alert_rule_test"`
		}
	}
	for file, into := range map[string]any{"monitoring/alerts.yaml": &rules, "monitoring/alerts_test.yaml": &tests} {
		data, err := os.ReadFile(file)
		if err == nil {
			err = yaml.Unmarshal(data, into)
		}
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	var alerts, tried []string
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			alerts = append(alerts, r.Alert)
			if want := runbooks + "#" + strings.ToLower(r.Alert); r.Annotations["runbook_url"] != want || !strings.Contains(string(runbook), "\n## "+r.Alert+"\n") {
				t.Errorf("alert %s has the runbook_url %q, want %q, and a section in docs/reference/runbooks.md", r.Alert, r.Annotations["runbook_url"], want)
			}
			if r.Annotations["summary"] == "" || r.Annotations["description"] == "" || !slices.Contains([]string{"warning", "critical"}, r.Labels["severity"]) {
				t.Errorf("alert %s lacks a summary, a description, or a severity of warning or critical", r.Alert)
			}
		}
	}
	for _, test := range tests.Tests {
		for _, a := range test.Tried {
			if len(a.Fires) > 0 {
				tried = append(tried, a.Alertname)
			}
		}
	}
	slices.Sort(alerts)
	slices.Sort(tried)
	if diff := cmp.Diff(alerts, slices.Compact(tried)); diff != "" {
		t.Errorf("alerts without a test in which they fire (-alerts +tests):\n%s", diff)
	}
}
