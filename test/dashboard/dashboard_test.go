// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-dev/slipway/test/browser"
	"github.com/slipway-dev/slipway/test/localcluster"
)

var (
	long     = flag.Bool("long", false, "create the virtual machines and test the dashboard")
	machines = flag.Int("machines", 2000, "how many")
	pictures = flag.String("pictures", "", "directory that the pictures of the documentation are written to; none when empty")
)

// patience is many times the duration of each step on an idle machine.
const patience = 15 * time.Minute

const live = `document.getElementById('live').innerText.trim() === 'Live'`

// scene is a page of the dashboard of the fleet.
type scene struct {
	*browser.Page
	t       *testing.T
	cluster *localcluster.Cluster
	fleet   *fleet
	address string
}

func TestDashboard_ShowsManyVirtualMachines(t *testing.T) {
	if !*long {
		t.Log("NOT RUN: it takes minutes; -long runs it")
		return
	}
	if _, err := browser.Find(); err != nil {
		t.Logf("NOT RUN: %v", err)
		return
	}
	s := open(t)
	t.Run("the queue while it happens", s.queue)
	t.Run("all are listed, few are drawn", s.list)
	t.Run("one that waits, and one that is outdated", s.one)
	t.Run("zones", func(t *testing.T) {
		s.visit(t, "#/zones", `document.querySelectorAll('.gauge').length >= 12`)
		s.picture(t, "zones", false)
	})
	t.Run("not live, and live again", s.interrupted)
	origin, _, _ := strings.Cut(s.address, "#")
	for _, r := range s.Requests() {
		if !strings.HasPrefix(r, origin) {
			t.Errorf("the page requested %s", r)
		}
	}
}

// open starts the environment, the dashboard and a browser.
func open(t *testing.T) *scene {
	t.Helper()
	dir, err := os.MkdirTemp("", "slipway-dashboard-")
	if err != nil {
		t.Fatal(err)
	}
	bin, err := filepath.Abs("../../bin")
	if err != nil {
		t.Fatal(err)
	}
	s := &scene{t: t}
	s.cluster, err = localcluster.Start(t.Context(), localcluster.Options{DataDir: dir, BinDir: bin, UnsafeNoFsync: true, VCenters: 2, Zones: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { must(t, s.cluster.Stop()); must(t, os.RemoveAll(dir)) })
	s.fleet = newFleet(t, s.cluster)
	must(t, s.fleet.catalogue(t.Context()))
	address, stop, err := browser.Dashboard(context.Background(), filepath.Join(bin, "virtctl"), "--kubeconfig", s.cluster.AdminKubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { must(t, stop()) })
	b, err := browser.Start(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { must(t, b.Close()) })
	s.address = address
	if s.Page, err = b.Open(1280, 800, 1, false); err != nil {
		t.Fatal(err)
	}
	must(t, s.Go(address))
	must(t, s.Until(time.Minute, live))
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// visit opens a view, and waits until it shows the expected content.
func (s *scene) visit(t *testing.T, view, until string) {
	t.Helper()
	must(t, s.Eval(`void (location.hash = '`+view+`')`, nil))
	must(t, s.Until(patience, until))
}

// picture takes a screenshot, light or dark, if the test was asked to write them.
func (s *scene) picture(t *testing.T, name string, dark bool) {
	t.Helper()
	if *pictures == "" {
		return
	}
	must(t, s.Dark(dark))
	data, err := s.Picture()
	must(t, err)
	must(t, s.Dark(false))
	must(t, os.WriteFile(filepath.Join(*pictures, "dashboard-"+name+".png"), data, 0o644))
}

func (s *scene) queue(t *testing.T) {
	s.visit(t, "#/queue", `document.querySelector('.tile.flat')`)
	made := make(chan error, 1)
	go func() { made <- s.fleet.fill(t.Context(), *machines) }()
	must(t, s.Until(patience, `Number(document.querySelector('.tile.flat b').innerText.replace(/,/g, '')) > `+fmt.Sprint(*machines/10)))
	s.picture(t, "queue", false)
	must(t, <-made)
}

func (s *scene) list(t *testing.T) {
	began := time.Now()
	s.visit(t, "#/", fmt.Sprintf(`document.querySelector('.rows').getAttribute('aria-rowcount') === '%d' && %s`, *machines+1, live))
	must(t, s.Until(patience, `document.getElementById('tile-wait').querySelector('b').innerText === '0'`))
	t.Logf("%d virtual machines are settled %s after the last was made", *machines, time.Since(began).Round(time.Second))

	var figures struct{ Ready, Drawn, Bytes, Filter float64 }
	must(t, s.Reload(t.Context()))
	must(t, s.Until(patience, fmt.Sprintf(`document.querySelector('.rows')?.getAttribute('aria-rowcount') === '%d' && %s`, *machines+1, live)))
	must(t, s.Eval(`(async () => {
		const rows = document.querySelector('.rows');
		const ready = performance.now();
		const read = performance.getEntriesByType('resource').filter((e) => e.name.includes('/virtualmachines?limit'));
		rows.scrollTop = rows.scrollHeight;
		await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
		const drawn = rows.querySelectorAll('.canvas .row').length;
		const last = [...rows.querySelectorAll('.canvas .row')].some((r) => r.getAttribute('aria-rowindex') === rows.getAttribute('aria-rowcount'));
		const search = document.getElementById('search');
		const began = performance.now();
		search.value = 'web-1';
		search.dispatchEvent(new Event('input'));
		rows.getBoundingClientRect();
		const filter = performance.now() - began;
		search.value = '';
		search.dispatchEvent(new Event('input'));
		return { Ready: ready, Drawn: last ? drawn : -1, Bytes: read.reduce((n, e) => n + e.decodedBodySize, 0), Filter: filter };
	})()`, &figures))
	t.Logf("live %.0f ms after the navigation, with %.1f MB read; %.0f rows are drawn; a filter takes %.1f ms", figures.Ready, figures.Bytes/1e6, figures.Drawn, figures.Filter)
	if figures.Drawn < 20 || figures.Drawn > 80 {
		t.Errorf("%.0f rows are drawn at the end of the list, want those that are seen, the last among them", figures.Drawn)
	}
	for _, f := range []struct{ filter, what string }{{"namespace=payments", "c-namespace"}, {"type=u1.small", "c-type"}, {"tone=off", "c-status"}} {
		_, value, _ := strings.Cut(f.filter, "=")
		s.visit(t, "#/?"+f.filter, fmt.Sprintf(`(() => { const all = [...document.querySelectorAll('.canvas .%s')].map((e) => e.innerText.trim());
			return all.length > 0 && all.every((x) => %q === 'off' ? ['Stopped', 'Suspended'].includes(x) : x.startsWith(%q)); })()`, f.what, value, value))
	}
	patch := []byte(`{"spec":{"cpu":{"guest":2},"memory":{"guest":"1536Mi"}}}`)
	_, err := s.fleet.slipway.InstancetypeV1alpha1().VirtualMachineClusterInstancetypes().Patch(t.Context(), "u1.small", types.MergePatchType, patch, metav1.PatchOptions{})
	must(t, err)
	s.visit(t, "#/", `Number(document.getElementById('tile-old').querySelector('b').innerText.replace(/,/g, '')) >= `+fmt.Sprint(*machines/4))
	s.picture(t, "fleet", false)
	s.picture(t, "fleet-dark", true)
}

func (s *scene) one(t *testing.T) {
	s.visit(t, "#/?type=u1.small&tone=ok", `document.querySelector('.canvas .c-name a')`)
	must(t, s.Eval(`document.querySelector('.canvas .c-name a').click()`, nil))
	must(t, s.Until(time.Minute, `document.body.innerText.includes('Effective spec')`))
	must(t, s.Click("Refresh instance type"))
	must(t, s.Until(time.Minute, `document.querySelector('dialog[open]').innerText.includes('memory.guest')`))
	s.picture(t, "refresh", false)
	must(t, s.Click("Cancel"))
	must(t, s.Click("Console"))
	must(t, s.Until(time.Minute, `document.getElementById('console-url')?.innerText.startsWith('wss://')`))
	must(t, s.Click("Close"))
	s.visit(t, "#/?status=ImageNotFound", `document.querySelector('.canvas .c-name a')`)
	must(t, s.Eval(`document.querySelector('.canvas .c-name a').click()`, nil))
	must(t, s.Until(time.Minute, `document.querySelector('.waits').innerText.includes('photon-6')`))
	s.picture(t, "vm", false)
}

// A restarted server has lost its event history, so everything is read again.
func (s *scene) interrupted(t *testing.T) {
	s.visit(t, "#/", live)
	must(t, s.cluster.KillSlipway())
	must(t, s.Until(time.Minute, `document.getElementById('live').innerText.startsWith('Not live')`))
	must(t, s.cluster.RestartSlipway(t.Context()))
	must(t, s.fleet.slipway.VmV1alpha1().VirtualMachines("shop").Delete(t.Context(), "web-1", metav1.DeleteOptions{}))
	must(t, s.Until(patience, fmt.Sprintf(`%s && document.querySelector('.rows').getAttribute('aria-rowcount') === '%d'`, live, *machines)))
}
