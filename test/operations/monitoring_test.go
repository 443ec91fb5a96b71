// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/slipway-dev/slipway/test/localcluster"
	"github.com/slipway-dev/slipway/test/testenv"
)

const monitoring = "../../artifacts/monitoring/"

// watched is a query of a dashboard or of an alerting rule.
type watched struct{ where, expr, legend string }

// byScraping are the labels that the scraper adds to a metric.
var byScraping = []string{"job", "instance"}

func TestDashboardsAndAlerts_UseMetricsOfTheServer(t *testing.T) {
	testenv.Own(t, func(o *localcluster.Options) {
		o.Zones = true
		o.SlipwayArgs = append(o.SlipwayArgs, "--vm-metrics=usage", "--etcd-snapshot-dir="+t.TempDir())
	})
	u := admin(t)
	reads := startPrometheus(t)
	u.Apply(testenv.Catalogue + testenv.InlineVM("lost", "nowhere"))
	for _, name := range []string{"a", "b", "c"} { // two scrapes, because a rate needs two
		u.Apply(testenv.InlineVM(name, "photon-5"))
		u.Wants("vm/"+name, ".status.printableStatus", "Running")
	}
	u.Virtctl("stop", "a", "--mode=Hard", "--wait")
	if _, _, err := u.Try("", "kubectl", "get", "vm", "missing"); err == nil {
		t.Error("VM missing exists")
	}
	var shown map[string][]string
	// The usage of VMs is read every 20 seconds.
	testenv.Eventually(t, testenv.Short, "the server has metrics of a snapshot of its store, and of the usage of VMs", func() error {
		shown = metricsOf(t)
		for _, late := range []string{"slipway_etcd_snapshot_timestamp_seconds", "slipway_virtualmachine_cpu_usage_hertz"} {
			if _, ok := shown[late]; !ok {
				return fmt.Errorf("it does not show %s", late)
			}
		}
		return nil
	})
	all := append(dashboardQueries(t), alertQueries(t)...)
	if len(all) < 80 {
		t.Fatalf("there are only %d queries", len(all))
	}
	for i, a := range selectorsOf(t, all) {
		for _, wrong := range unknownTo(shown, a, all[i].legend) {
			t.Errorf("%s: %s\n%s", all[i].where, wrong, all[i].expr)
		}
	}
	if reads == nil {
		t.Log("NOT RUN against a real Prometheus: hack/install-prometheus.sh unpacks it")
		return
	}
	answers(t, reads, all)
}

// metricsOf returns the labels of the server's metrics.
func metricsOf(t *testing.T) map[string][]string {
	t.Helper()
	config, err := testenv.Of(t).DirectConfig("prometheus", "system:masters")
	if err != nil {
		t.Fatal(err)
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := client.Get(config.Host + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(answer.Body)
	if err != nil {
		t.Fatalf("reading the metrics of the server: %v", err)
	}
	all := map[string][]string{}
	for name, family := range families {
		labels := map[string]bool{}
		for _, m := range family.GetMetric() {
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = true
			}
		}
		plain := slices.Sorted(maps.Keys(labels))
		if family.GetType() == dto.MetricType_HISTOGRAM {
			all[name+"_bucket"], all[name+"_count"], all[name+"_sum"] = append(plain, "le"), plain, plain
			continue
		}
		all[name] = plain
	}
	return all
}

// dashboard is the part of a Grafana dashboard that contains queries.
type dashboard struct {
	Title      string
	Templating struct {
		List []struct{ Name, AllValue string }
	}
	Panels []struct {
		Title   string
		Targets []struct{ Expr, LegendFormat string }
	}
}

// dashboardQueries returns the queries of the dashboards. Each variable is replaced by the value
// that Grafana uses for "All".
func dashboardQueries(t *testing.T) []watched {
	t.Helper()
	files, err := filepath.Glob(monitoring + "dashboards/*.json")
	if err != nil || len(files) != 4 {
		t.Fatalf("the dashboards are %v, %v", files, err)
	}
	var all []watched
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var d dashboard
		if err := json.Unmarshal(data, &d); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		values := []string{"$__rate_interval", "1m"}
		for _, v := range d.Templating.List {
			values = append(values, "$"+v.Name, v.AllValue)
		}
		fill := strings.NewReplacer(values...)
		for _, p := range d.Panels {
			for _, q := range p.Targets {
				all = append(all, watched{d.Title + ": " + p.Title, fill.Replace(q.Expr), q.LegendFormat})
			}
		}
	}
	return all
}

// alertQueries returns the queries of the alerting rules.
func alertQueries(t *testing.T) []watched {
	t.Helper()
	var rules struct {
		Groups []struct {
			Rules []struct{ Alert, Expr string }
		}
	}
	data, err := os.ReadFile(monitoring + "alerts.yaml")
	if err == nil {
		err = yaml.Unmarshal(data, &rules)
	}
	if err != nil {
		t.Fatal(err)
	}
	var all []watched
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			all = append(all, watched{where: "alert " + r.Alert, expr: r.Expr})
		}
	}
	return all
}

// selectors returns the selectors of a query. See hack/tools-promql.
type selectors struct {
	Error    string
	Metrics  map[string][]string
	Grouping []string
}

func selectorsOf(t *testing.T, all []watched) []selectors {
	t.Helper()
	queries := make([]string, 0, len(all))
	for _, w := range all {
		queries = append(queries, w.expr)
	}
	in, err := json.Marshal(queries)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "../../_bin/selectors")
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: make tools-promql builds it", err)
	}
	var read []selectors
	if err := json.Unmarshal(out, &read); err != nil || len(read) != len(all) {
		t.Fatalf("of %d queries %d are read: %v", len(all), len(read), err)
	}
	return read
}

var legendLabel = regexp.MustCompile(`{{(\w+)}}`)

// unknownTo returns the selectors of a query for which the server has no data.
func unknownTo(shown map[string][]string, a selectors, legend string) []string {
	if a.Error != "" {
		return []string{a.Error}
	}
	var wrong []string
	all := slices.Clone(byScraping)
	for metric, matched := range a.Metrics {
		has, ok := shown[metric]
		if !ok {
			wrong = append(wrong, "there is no metric "+metric)
			continue
		}
		all = append(all, has...)
		for _, label := range matched {
			if !slices.Contains(has, label) && !slices.Contains(byScraping, label) {
				wrong = append(wrong, metric+" has no label "+label)
			}
		}
	}
	if len(wrong) > 0 {
		return wrong
	}
	named := slices.Clone(a.Grouping)
	for _, found := range legendLabel.FindAllStringSubmatch(legend, -1) {
		named = append(named, found[1])
	}
	for _, label := range named {
		if !slices.Contains(all, label) {
			wrong = append(wrong, "no metric of it has the label "+label)
		}
	}
	return wrong
}

func TestDashboardsAndAlerts_UnknownMetricsAreFound(t *testing.T) {
	t.Parallel()
	shown := map[string][]string{"up": {"zone"}, "down": {}}
	for query, want := range map[string]string{
		`sum by (zone) (up{zone="a", job="b"})`: "", `up`: "", `sideways`: "there is no metric sideways",
		`up{node="a"}`: "up has no label node", `sum by (node) (up)`: "no metric of it has the label node", `down * on (zone) group_left (instance) up`: "",
		`rate(up[5m]`: "parse error",
	} {
		a := selectorsOf(t, []watched{{expr: query}})
		if got := strings.Join(unknownTo(shown, a[0], ""), "; "); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
	if got := unknownTo(shown, selectors{Metrics: map[string][]string{"up": nil}}, "{{node}}"); len(got) != 1 {
		t.Errorf("a legend with a missing label: %q", got)
	}
}
