// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/slipway-dev/slipway/test/browser"
	"github.com/slipway-dev/slipway/test/testenv"
)

// tab is a page of a dashboard in a browser.
type tab struct {
	*browser.Page
	t *testing.T
	// origin is the only origin that the page may request.
	origin string
	// stop stops virtctl.
	stop func()
}

// dashboard opens the dashboard of u. It returns nil if no browser is installed.
func (u user) dashboard(args ...string) *tab {
	u.T.Helper()
	b, err := browser.Start(context.Background())
	if err != nil {
		u.T.Logf("NOT RUN: %v", err)
		return nil
	}
	u.T.Cleanup(func() {
		if err := b.Close(); err != nil {
			u.T.Errorf("ending the browser: %v", err)
		}
	})
	address, stop, err := browser.Dashboard(context.Background(), filepath.Join(testenv.BinDir(), "virtctl"), append(args, "--kubeconfig", u.Kubeconfig)...)
	if err != nil {
		u.T.Fatal(err)
	}
	ended := false
	d := &tab{t: u.T, stop: func() {
		if ended {
			return
		}
		ended = true
		if err := stop(); err != nil {
			u.T.Errorf("virtctl dashboard ends with %v", err)
		}
	}}
	u.T.Cleanup(d.stop)
	at, err := url.Parse(address)
	if err != nil {
		u.T.Fatal(err)
	}
	d.origin = "http://" + at.Host + "/"
	if d.Page, err = b.Open(1440, 900, 1, false); err != nil {
		u.T.Fatal(err)
	}
	d.must(d.Go(address))
	d.until(`document.getElementById('live').innerText.trim() === 'Live'`)
	return d
}

func (d *tab) must(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

func (d *tab) until(expression string) {
	d.t.Helper()
	d.must(d.Until(testenv.Long, expression))
}

// shows waits until the page shows a text.
func (d *tab) shows(text string) {
	d.t.Helper()
	d.until(`document.body.innerText.includes(` + strconv.Quote(text) + `)`)
}

func (d *tab) click(words string) {
	d.t.Helper()
	d.must(d.Click(words))
}

func (d *tab) keys(keys ...string) {
	d.t.Helper()
	for _, k := range keys {
		d.must(d.Key(k))
	}
}

// quiet checks that the page sent no request to another origin, and that only allowed failures occurred.
func (d *tab) quiet(allowed ...string) {
	d.t.Helper()
	for _, r := range d.Requests() {
		if !strings.HasPrefix(r, d.origin) {
			d.t.Errorf("the page requested %s, which is not at %s", r, d.origin)
		}
		if strings.Contains(r, "token=") && !strings.Contains(r, "#token=") {
			d.t.Errorf("the token is in %s", r)
		}
	}
	for _, c := range d.Complaints() {
		if !slices.ContainsFunc(allowed, func(a string) bool { return strings.Contains(c, a) }) {
			d.t.Errorf("in the page: %s", c)
		}
	}
}

const rowCount = `document.querySelector('.rows').getAttribute('aria-rowcount')`

func TestDashboard_ShowsAndChangesVirtualMachines(t *testing.T) {
	t.Parallel()
	t.Run("powered", powersInDashboard)
	t.Run("previewed and refreshed", refreshesInDashboard)
	t.Run("of a user with few permissions", viewsDashboard)
}

func powersInDashboard(t *testing.T) {
	u := admin(t)
	manifest := testenv.Catalogue + testenv.VM("web")
	for i := range 20 {
		manifest += testenv.VM(fmt.Sprintf("idle-%d", i), "powerState: PoweredOff")
	}
	u.Put(manifest)
	u.Ready("vm/web")
	d := u.dashboard()
	if d == nil {
		return
	}

	// With the keyboard: search, go down, open.
	d.keys("/")
	d.until(`document.activeElement.id === 'search'`)
	for _, c := range u.Namespace {
		d.keys(string(c))
	}
	d.until(rowCount + ` === '22'`)
	u.Put(testenv.VM("aaa", "powerState: PoweredOff"))
	d.until(rowCount + ` === '23'`)
	d.until(`document.querySelector('.canvas').innerText.includes('aaa')`)
	u.Delete("vm/aaa")
	d.until(rowCount + ` === '22' && !document.querySelector('.canvas').innerText.includes('aaa')`)
	if got := d.parameters(); !strings.Contains(got, "q="+u.Namespace) {
		t.Errorf("the address is %s, without the filter", got)
	}
	// The number of more than 20 VMs must be typed.
	d.must(d.Eval(`void document.querySelector('[aria-label="Select all listed"]').click()`, nil))
	d.click("Stop…")
	d.until(`document.querySelector('dialog[open] h2')?.innerText === 'Stop 21 virtual machines?'`)
	const disabled = `[...document.querySelectorAll('dialog[open] button')].find((b) => b.innerText === 'Stop').disabled`
	d.until(disabled + ` && document.activeElement.innerText === 'Cancel'`)
	const typing = `void ((e) => { e.value = '%s'; e.dispatchEvent(new Event('input')); })(document.getElementById('typed'))`
	d.must(d.Eval(fmt.Sprintf(typing, "20"), nil))
	d.until(disabled)
	d.must(d.Eval(fmt.Sprintf(typing, "21"), nil))
	d.until(`!` + disabled)
	d.click("Cancel")
	d.until(`!document.querySelector('dialog[open]')`)
	d.until(`!document.getElementById('live').title && document.getElementById('live-status').innerText === 'Live'`)
	d.keys("Escape", "Escape", "k", "End", "Enter")
	d.until(`location.hash.startsWith('#/vm/')`)
	d.must(d.Eval(`void (location.hash = '#/vm/`+u.Namespace+`/web')`, nil))
	d.shows("The virtual machine matches its spec")

	d.click("Console")
	d.until(`/^wss:\/\/[^/]+\/ticket\/./.test(document.getElementById('console-url')?.innerText)`)
	d.until(`['Console of web', 'one connection', 'Thumbprint', 'vmrc://'].every((x) => document.querySelector('dialog[open]').innerText.includes(x))`)
	d.click("Close")
	d.until(`!document.getElementById('console-url')`)

	d.click("Stop")
	d.until(`document.querySelector('dialog[open] h2').innerText === 'Stop web?'`)
	d.until(`document.activeElement.innerText === 'Cancel'`)
	if got := u.Get("vm/web", ".spec.powerState"); got != "PoweredOn" {
		t.Errorf("the dialog alone requested %s", got)
	}
	d.must(d.Eval(`void (document.getElementById('mode').value = 'Hard')`, nil))
	d.click("Stop")
	u.Wants("vm/web", ".status.powerState", "PoweredOff")
	u.Wants("vm/web", ".spec.powerOffMode", "Hard")
	d.until(`document.querySelector('.title').innerText.includes('Stopped')`)
	d.until(`[...document.querySelectorAll('button')].some((b) => b.innerText.startsWith('Console') && b.disabled)`)
	d.click("Start")
	d.until(`document.querySelector('dialog[open]')`)
	d.click("Start")
	u.Wants("vm/web", ".status.powerState", "PoweredOn")
	d.until(`document.querySelector('.title').innerText.includes('Running')`)
	d.quiet()

	d.stop()
	d.shows("Not live: virtctl does not respond; check that it is running")
}

// parameters returns the query parameters of the address.
func (d *tab) parameters() (hash string) {
	d.t.Helper()
	d.must(d.Eval("location.hash", &hash))
	return hash
}

func refreshesInDashboard(t *testing.T) {
	u := admin(t)
	u.Put(testenv.Catalogue + testenv.VM("web", "powerState: PoweredOff") + testenv.InlineVM("lost", "not-there"))
	u.Wants("vm/web", ".status.powerState", "PoweredOff")
	u.Patch("virtualmachineinstancetype/small", `{"spec":{"cpu":{"guest":4},"memory":{"guest":"4Gi"}}}`)
	u.Wants("vm/web", ".status.instancetypeRef.outdated", "true")
	old := u.Get("vm/web", ".status.instancetypeRef.controllerRevisionRef.name")
	d := u.dashboard()
	if d == nil {
		return
	}
	d.must(d.Eval(`void (location.hash = '#/?outdated=1&namespace=`+u.Namespace+`')`, nil))
	d.until(rowCount + ` === '2' && document.querySelector('.canvas').innerText.includes('OUTDATED')`)
	d.must(d.Eval(`void (location.hash = '#/vm/`+u.Namespace+`/web')`, nil))
	d.click("Refresh instance type")
	d.until(`['generation 1 → 2', 'cpu.sockets', '4Gi'].every((x) => document.querySelector('dialog[open]').innerText.includes(x))`)
	if got := u.Get("vm/web", ".status.instancetypeRef.controllerRevisionRef.name"); got != old {
		t.Errorf("the preview moved the virtual machine from %s to %s", old, got)
	}
	d.keys("Escape")
	d.until(`!document.querySelector('dialog[open]')`)
	d.click("Refresh instance type")
	d.until(`document.querySelector('dialog[open]')`)
	d.click("Refresh")
	u.Wants("vm/web", ".status.instancetypeRef.sourceGeneration", "2")
	d.until(`document.querySelector('.facts').innerText.includes('generation 2') && !document.querySelector('.facts').innerText.includes('OUTDATED')`)

	d.must(d.Eval(`void (location.hash = '#/vm/`+u.Namespace+`/lost')`, nil))
	d.until(`/ImageReady\s*NotFound/.test(document.querySelector('.waits').innerText) && document.querySelector('.waits').innerText.includes('not-there')`)
	for view, shows := range map[string]string{"zones": "No Zone objects: virtual machines are placed", "images": "photon-5", "queue": "Waiting for an address"} {
		d.must(d.Eval(`void (location.hash = '#/`+view+`')`, nil))
		d.shows(shows)
	}
	d.quiet()
}

// viewsDashboard tests the dashboard with a user who has only the ClusterRole view.
func viewsDashboard(t *testing.T) {
	u := admin(t)
	u.Put(testenv.Catalogue + testenv.VM("web", "powerState: PoweredOff"))
	u.Wants("vm/web", ".status.powerState", "PoweredOff")
	v := user{u.As("viewer-of-the-dashboard")}
	u.Grant("viewer-of-the-dashboard", "view")
	testenv.Eventually(t, testenv.Short, "the viewer may list", func() error {
		_, _, err := v.Try("", "virtctl", "top", "vm")
		return err
	})
	d := v.dashboard("--namespace", u.Namespace)
	if d == nil {
		return
	}
	d.until(rowCount + ` === '2'`)
	d.must(d.Eval(`void (location.hash = '#/vm/`+u.Namespace+`/web')`, nil))
	d.click("Start")
	d.click("Start")
	d.shows("virtualmachines/start")
	if got := u.Get("vm/web", ".spec.powerState"); got != "PoweredOff" {
		t.Errorf("the viewer requested %s", got)
	}
	d.must(d.Eval(`void (location.hash = '#/queue')`, nil))
	d.shows("You have no permission to read the queue.")
	d.quiet("403 (Forbidden)")
}
