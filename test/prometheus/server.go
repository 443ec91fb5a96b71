// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package prometheus

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"k8s.io/client-go/rest"
)

// ErrMissing is returned when Prometheus is not installed on this machine.
var ErrMissing = errors.New("there is no Prometheus: hack/install-prometheus.sh unpacks one")

// Options are the options of a Prometheus.
type Options struct {
	// Root is the path of the repository, whose _bin may contain an unpacked Prometheus.
	Root string
	// Dir is the existing directory for the configuration and the data.
	Dir string
	// Server is the configuration of the server to scrape every Interval, which is at least a second.
	Server   *rest.Config
	Interval time.Duration
	// Rules is the absolute path of a file of rules, none if empty.
	Rules string
}

// Server is a running Prometheus.
type Server struct {
	url string
	cmd *exec.Cmd
}

// Find returns the path of a Prometheus, or ErrMissing.
func Find(root string) (string, error) {
	unpacked, err := filepath.Abs(filepath.Join(root, "_bin/prometheus"))
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(unpacked); err == nil {
		return unpacked, nil
	}
	installed, err := exec.LookPath("prometheus")
	if err != nil {
		return "", ErrMissing
	}
	return installed, nil
}

var listening = regexp.MustCompile(`msg="Listening on" address=(127\.0\.0\.1:\d+)`)

// Start runs a Prometheus until ctx is done or Close is called, and returns when it listens.
func Start(ctx context.Context, o Options) (*Server, error) {
	program, err := Find(o.Root)
	if err != nil {
		return nil, err
	}
	if err := o.write(); err != nil {
		return nil, fmt.Errorf("configuring Prometheus: %w", err)
	}
	s := &Server{cmd: exec.CommandContext(ctx, program, "--config.file="+o.config(), "--storage.tsdb.path="+filepath.Join(o.Dir, "data"),
		"--web.listen-address=127.0.0.1:0", "--query.lookback-delta=30s")}
	said, err := s.cmd.StderrPipe()
	if err != nil {
		return nil, fmt.Errorf("starting Prometheus: %w", err)
	}
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting Prometheus: %w", err)
	}
	lines, last := bufio.NewScanner(said), ""
	for lines.Scan() {
		last = lines.Text()
		if found := listening.FindStringSubmatch(last); found != nil {
			go func() { _, _ = io.Copy(io.Discard, said) }() // it must not block
			s.url = "http://" + found[1]
			return s, nil
		}
	}
	s.Close()
	return nil, fmt.Errorf("starting Prometheus: it ended without saying where it listens; its last word: %s", last)
}

// Close ends it.
func (s *Server) Close() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait() // it was killed
}

func (o Options) config() string { return filepath.Join(o.Dir, "prometheus.yaml") }

// write writes the configuration, and the files that it names.
func (o Options) write() error {
	rules := ""
	if o.Rules != "" {
		rules = fmt.Sprintf("rule_files: [%q]\n", o.Rules)
	}
	files := map[string][]byte{"ca.crt": o.Server.CAData, "tls.crt": o.Server.CertData, "tls.key": o.Server.KeyData}
	files[filepath.Base(o.config())] = fmt.Appendf(nil, `
global: {scrape_interval: %[1]ds, evaluation_interval: %[1]ds}
%[2]sscrape_configs:
- job_name: slipway
  scheme: https
  honor_labels: true
  tls_config: {ca_file: ca.crt, cert_file: tls.crt, key_file: tls.key}
  static_configs: [{targets: [%[3]q]}]
`, int(o.Interval.Seconds()), rules, strings.TrimPrefix(o.Server.Host, "https://"))
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(o.Dir, name), data, 0o600); err != nil {
			return err
		}
	}
	return nil
}
