// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// mayBeEmpty are the panels whose queries have no answer in a cluster that is well, with why.
var mayBeEmpty = map[string]string{
	"Slipway / vCenter: Not answered, or refused": "every call succeeds",
}

// prometheus is one that runs.
type prometheus struct{ url string }

// startPrometheus lets a Prometheus read the environment of the test, with the alerting rules. It
// is nil where there is none.
func startPrometheus(t *testing.T) *prometheus {
	t.Helper()
	program, err := filepath.Abs("../../_bin/prometheus")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(program); err != nil {
		if program, err = exec.LookPath("prometheus"); err != nil {
			return nil
		}
	}
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), program, "--config.file="+scrapeConfig(t, dir), "--storage.tsdb.path="+filepath.Join(dir, "data"),
		"--web.listen-address=127.0.0.1:0", "--query.lookback-delta=30s")
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it is killed
	})
	lines, listening := bufio.NewScanner(said), regexp.MustCompile(`msg="Listening on" address=(127\.0\.0\.1:\d+)`)
	for lines.Scan() {
		if found := listening.FindStringSubmatch(lines.Text()); found != nil {
			go func() { _, _ = io.Copy(io.Discard, said) }() // it must not block
			p := &prometheus{url: "http://" + found[1]}
			eventually(t, short, "Prometheus reads the server", func() error {
				if got, err := p.query("up == 1"); err != nil || len(got) == 0 {
					return errorf("up is %v, %v", got, err)
				}
				return nil
			})
			return p
		}
	}
	t.Fatal("Prometheus ended without saying where it listens")
	return nil
}

// scrapeConfig writes a configuration by which Prometheus reads the server once a second.
func scrapeConfig(t *testing.T, dir string) string {
	t.Helper()
	config, err := environment(t).DirectConfig("prometheus", "system:masters")
	if err != nil {
		t.Fatal(err)
	}
	rules, err := filepath.Abs(monitoring + "alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{"ca.crt": config.CAData, "tls.crt": config.CertData, "tls.key": config.KeyData}
	files["prometheus.yaml"] = fmt.Appendf(nil, `
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [%q]
scrape_configs:
- job_name: slipway
  scheme: https
  honor_labels: true
  tls_config: {ca_file: ca.crt, cert_file: tls.crt, key_file: tls.key}
  static_configs: [{targets: [%q]}]
`, rules, strings.TrimPrefix(config.Host, "https://"))
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "prometheus.yaml")
}

// get reads from the API of Prometheus.
func (p *prometheus) get(path string, into any) error {
	answer, err := http.Get(p.url + path)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	var got struct {
		Status, Error string
		Data          json.RawMessage
	}
	if err := json.NewDecoder(answer.Body).Decode(&got); err != nil {
		return err
	}
	if got.Status != "success" {
		return errorf("%s", got.Error)
	}
	return json.Unmarshal(got.Data, into)
}

// query returns the labels of the answer to a query, one set for each line.
func (p *prometheus) query(query string) ([]map[string]string, error) {
	var data struct {
		Result []struct{ Metric map[string]string }
	}
	if err := p.get("/api/v1/query?query="+url.QueryEscape(query), &data); err != nil {
		return nil, err
	}
	var all []map[string]string
	for _, r := range data.Result {
		all = append(all, r.Metric)
	}
	return all, nil
}

// answers fails for queries of dashboards without an answer, and for alerts that cannot be
// evaluated, or fire.
func (p *prometheus) answers(t *testing.T, all []watched) {
	t.Helper()
	for _, w := range all {
		if strings.HasPrefix(w.where, "alert ") {
			continue
		}
		if _, empty := mayBeEmpty[w.where]; empty {
			continue
		}
		eventually(t, short, "Prometheus answers "+w.where+" ("+w.expr+")", func() error {
			if got, err := p.query(w.expr); err != nil || len(got) == 0 {
				return errorf("the answer is %v, %v", got, err)
			}
			return nil
		})
	}
	var rules struct {
		Groups []struct {
			Rules []struct{ Name, Health, LastError, State string }
		}
	}
	if err := p.get("/api/v1/rules", &rules); err != nil {
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
