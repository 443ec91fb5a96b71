// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package grafana

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/slipway-dev/slipway/test/browser"
	"github.com/slipway-dev/slipway/test/localcluster"
	"github.com/slipway-dev/slipway/test/prometheus"
)

const (
	dashboards = "../../artifacts/monitoring/dashboards/"
	// interval is that of the scrapes, and of what is drawn.
	interval = 2 * time.Second
	// scrapes are so many as make a picture.
	scrapes = 80
	// rates is what Grafana takes for $__rate_interval at that interval.
	rates = 4 * interval
	// patience is many times what each step takes on an idle machine.
	patience = 5 * time.Minute
)

var (
	long     = flag.Bool("long", false, "let the environment run for some minutes, and draw the dashboards")
	pictures = flag.String("pictures", "", "directory that the pictures are written to; none when empty")
)

func TestPicturesOfARealRun(t *testing.T) {
	if !*long {
		t.Log("NOT RUN: it takes minutes; -long runs it")
		return
	}
	_, noBrowser := browser.Find()
	_, noPrometheus := prometheus.Find("../..")
	if err := errors.Join(noBrowser, noPrometheus); err != nil {
		t.Logf("NOT RUN: %v", err)
		return
	}
	cluster := startCluster(t)
	server := startPrometheus(t, cluster)
	must(t, newLife(t, cluster, server).happen(t.Context()))
	to := time.Now().Truncate(interval)
	span := Span{From: to.Add(-(scrapes - 1) * interval), To: to, Step: interval}
	b, err := browser.Start(context.Background())
	must(t, err)
	t.Cleanup(func() { must(t, b.Close()) })
	for _, name := range []string{"fleet", "vcenter", "queue", "api"} {
		t.Run(name, func(t *testing.T) { draw(t, b, server, name, span) })
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func startCluster(t *testing.T) *localcluster.Cluster {
	t.Helper()
	dir, err := os.MkdirTemp("", "slipway-grafana-") // the path of a socket is short
	must(t, err)
	bin, err := filepath.Abs("../../bin")
	must(t, err)
	c, err := localcluster.Start(t.Context(), localcluster.Options{
		DataDir: dir, BinDir: bin, VCenters: 2, Zones: true, GuestBootDelay: 2 * time.Second,
		SlipwayArgs: []string{"--vm-metrics=usage", "--probe-networks=127.0.0.0/8", "--etcd-snapshot-dir=" + filepath.Join(dir, "snapshots")},
		VCenterArgs: []string{"--control-listen=127.0.0.1:0"},
	})
	must(t, err)
	t.Cleanup(func() { must(t, c.Stop()); must(t, os.RemoveAll(dir)) })
	return c
}

func startPrometheus(t *testing.T, c *localcluster.Cluster) *prometheus.Server {
	t.Helper()
	config, err := c.DirectConfig("prometheus", "system:masters")
	must(t, err)
	server, err := prometheus.Start(t.Context(), prometheus.Options{Root: "../..", Dir: t.TempDir(), Server: config, Interval: interval})
	must(t, err)
	t.Cleanup(server.Close)
	return server
}

// until waits until a condition is met.
func until(ctx context.Context, what string, met func(context.Context) (bool, error)) error {
	if err := wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, patience, true, met); err != nil {
		return fmt.Errorf("waiting until %s: %w", what, err)
	}
	return nil
}

// draw asks what a dashboard asks, and takes a picture of the answers.
func draw(t *testing.T, b *browser.Browser, server *prometheus.Server, name string, span Span) {
	d, err := Read(dashboards + name + ".json")
	must(t, err)
	var shown []Shown
	for i := range d.Panels {
		s, err := ask(t.Context(), server, d, &d.Panels[i], span)
		must(t, err)
		if s.Empty() {
			t.Errorf("%s: nothing is shown", s.Panel.Title)
		}
		shown = append(shown, s)
	}
	text, height, err := Page(d, shown, span)
	must(t, err)
	file := filepath.Join(t.TempDir(), name+".html")
	must(t, os.WriteFile(file, text, 0o600))
	p, err := b.Open(Width, height, 1, false)
	must(t, err)
	address := url.URL{Scheme: "file", Path: file}
	must(t, p.Go(address.String()))
	must(t, p.Until(time.Minute, `document.readyState === 'complete' && document.fonts.status === 'loaded'`))
	var tall int
	must(t, p.Eval(`document.documentElement.scrollHeight`, &tall))
	if tall > height {
		t.Errorf("the page is %d pixels high, its picture %d", tall, height)
	}
	if asked := p.Requests(); len(asked) != 1 || len(p.Complaints()) > 0 {
		t.Errorf("the page asked %v, and complained %v", asked, p.Complaints())
	}
	data, err := p.Picture()
	must(t, err)
	if *pictures != "" {
		must(t, os.WriteFile(filepath.Join(*pictures, "grafana-"+name+".png"), data, 0o644))
	}
}

// ask asks the queries of a panel: of now for a number, of all the time for lines.
func ask(ctx context.Context, server *prometheus.Server, d *Dashboard, p *Panel, span Span) (Shown, error) {
	s := Shown{Panel: p}
	for _, q := range p.Targets {
		expr := d.Fill(q.Expr, rates)
		var answer []prometheus.Series
		var err error
		if p.Type == kindStat {
			answer, err = server.At(ctx, expr, span.To)
		} else {
			answer, err = server.Range(ctx, expr, span.From, span.To, span.Step)
		}
		if err != nil {
			return s, err
		}
		s.Answers = append(s.Answers, answer)
	}
	return s, nil
}
