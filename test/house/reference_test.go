// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package house

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	metricsDocument = "docs/reference/metrics.md"
	eventsDocument  = "docs/reference/events.md"
)

var (
	comment      = regexp.MustCompile(`(?m)^\s*//.*$`)
	metricPrefix = regexp.MustCompile(`"(slipway_[a-z_]*_)"`)
	metricName   = regexp.MustCompile(`"(slipway_[a-z_]*[a-z])"`)
	metricHelp   = regexp.MustCompile(`(?:[dD]esc|gauge)\("([a-z_]+)",\s*"[A-Z1]`)
	metricRow    = regexp.MustCompile("(?m)^\\| `(slipway_[a-z_]+)` \\|")
	eventReason  = regexp.MustCompile("`([A-Z][A-Za-z]+)`")
)

// declaredMetrics returns the metrics of Slipway in the source of the server. A function of a package may add a prefix to
// names that are followed by their help text.
func declaredMetrics(all []source) map[string]bool {
	metrics, prefixes := map[string]bool{}, map[string][]string{}
	text := map[string]string{}
	for _, s := range all {
		if s.isTest() || !s.ofServer() {
			continue
		}
		text[s.path] = comment.ReplaceAllString(s.text, "")
		for _, m := range metricPrefix.FindAllStringSubmatch(text[s.path], -1) {
			prefixes[filepath.Dir(s.path)] = append(prefixes[filepath.Dir(s.path)], m[1])
		}
	}
	for path, code := range text {
		for _, m := range metricName.FindAllStringSubmatch(code, -1) {
			metrics[m[1]] = true
		}
		for _, prefix := range prefixes[filepath.Dir(path)] {
			for _, m := range metricHelp.FindAllStringSubmatch(code, -1) {
				metrics[prefix+m[1]] = true
			}
		}
	}
	return metrics
}

func TestMetricsDocument_HasTheMetricsOfTheServer(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, metricsDocument))
	if err != nil {
		t.Fatal(err)
	}
	var documented []string
	for _, m := range metricRow.FindAllStringSubmatch(string(page), -1) {
		documented = append(documented, m[1])
	}
	slices.Sort(documented)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(declaredMetrics(tree(t)))), documented); diff != "" {
		t.Errorf("metrics in %s (-code +document):\n%s", metricsDocument, diff)
	}
}

// Reasons of events that are derived from a condition are not in the source.
func TestEventsDocument_NamesReasonsOfTheServer(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, eventsDocument))
	if err != nil {
		t.Fatal(err)
	}
	var code strings.Builder
	for _, s := range tree(t) {
		if !s.isTest() && s.ofServer() {
			code.WriteString(s.text)
		}
	}
	derived := []string{"ImageNotReady", "ConfigurationFailed"}
	for line := range strings.Lines(string(page)) {
		if !strings.HasPrefix(line, "| ") {
			continue
		}
		for _, m := range eventReason.FindAllStringSubmatch(line, -1) {
			if !slices.Contains(derived, m[1]) && !strings.Contains(code.String(), `"`+m[1]+`"`) {
				t.Errorf("%s names the reason %s, which the server does not have", eventsDocument, m[1])
			}
		}
	}
}
