// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-dev/slipway/test/localcluster"
)

// holds fails for every text that a screen lacks.
func holds(t *testing.T, what, screen string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(screen, text) {
			t.Errorf("%s does not show %q:\n%s", what, text, screen)
		}
	}
}

func TestVirtctlDescribeShowsWhyNotAndWhatRuns(t *testing.T) {
	t.Parallel()
	u := admin(t)
	u.apply(catalogue + vmManifest("web") + inlineVM("lost", "nowhere"))
	u.kubectl("wait", "--for=condition=Ready", "vm/web", "--timeout=90s")
	u.wants("vm/lost", ".status.printableStatus", "ImageNotFound")
	holds(t, "virtctl describe of one that waits", u.virtctl("describe", "lost"),
		"Status:      ImageNotFound\n", `VirtualMachineImage "nowhere" does not exist`, "ImageReady=False", "powerState   PoweredOn   -         not yet")

	u.virtctl("snapshot", "create", "web", "before", "--wait")
	u.kubectl("patch", "virtualmachineinstancetype/small", "--type=merge", "-p", `{"spec":{"cpu":{"guest":8}}}`)
	u.wants("vm/web", ".status.instancetypeRef.outdated", "true")
	u.wants("vm/web", ".status.currentSnapshot", "before")
	eventually(t, short, "the events are there", func() error {
		if out := u.virtctl("events", "web"); !strings.Contains(out, "PoweredOn") || !strings.Contains(out, "virtualmachinesnapshot/before") {
			return errorf("%s", out)
		}
		return nil
	})
	screen := u.virtctl("describe", "web")
	holds(t, "virtctl describe of one that runs", screen, "small of the namespace, generation 1, OUTDATED: it has generation 2 now", "It waits for nothing.", "created or found in vSphere",
		"snapshot before taken", "powerState   PoweredOn   PoweredOn   same", "(boot disk)", u.get("vm/web", ".status.network.primaryIP4"), u.get("vm/web", ".status.uniqueID"))
	if strings.Contains(screen, "lost") {
		t.Errorf("it shows what is of another one:\n%s", screen)
	}
	for _, form := range [][]string{{"vm/web"}, {"vm", "web"}, {strings.TrimSpace(u.kubectl("get", "vm", "web", "-o", "name"))}} {
		holds(t, "virtctl describe "+strings.Join(form, " "), u.virtctl(append([]string{"describe"}, form...)...), "Name:            web\n")
	}
	if _, errOut, err := u.try("", "virtctl", "describe", "pod/web"); err == nil || !strings.Contains(errOut, "want NAME, vm/NAME or vm NAME") {
		t.Errorf("virtctl describe pod/web: %v %s", err, errOut)
	}
}

func TestVirtctlEventsGoOnWithWhatHappens(t *testing.T) {
	t.Parallel()
	u := admin(t)
	u.apply(catalogue + vmManifest("web"))
	u.kubectl("wait", "--for=condition=Ready", "vm/web", "--timeout=90s")
	ctx, cancel := context.WithTimeout(t.Context(), long)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(binDir, "virtctl"), "--kubeconfig", u.kubeconfig, "--namespace", u.namespace, "events", "web", "--watch")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	seen := bufio.NewScanner(out)
	// until reads lines to one that has the texts.
	until := func(texts ...string) {
		t.Helper()
		for seen.Scan() {
			found := true
			for _, text := range texts {
				found = found && strings.Contains(seen.Text(), text)
			}
			if found {
				return
			}
		}
		t.Fatalf("the watch ended without %q: %v", texts, context.Cause(ctx))
	}
	until("Normal", "PoweredOn", "virtualmachine/web")
	u.virtctl("stop", "web", "--mode=Hard")
	until("PoweredOff")
	u.virtctl("snapshot", "create", "web", "later")
	until("Ready", "virtualmachinesnapshot/later")
	cancel()
	_ = cmd.Wait() // it is killed
}

func TestVirtctlTopShowsWhatIsTaken(t *testing.T) {
	another(t, func(o *localcluster.Options) { o.Zones = true })
	u := admin(t)
	u.apply(catalogue + inlineVM("small", "photon-5") + strings.Replace(inlineVM("large", "photon-5"), "1Gi", "2Gi", 1))
	u.wants("vm/large", ".status.printableStatus", "Running")
	u.wants("vm/small", ".status.printableStatus", "Running")
	rows := strings.Split(u.virtctl("top", "vm", "--sort-by", "memory", "--sum"), "\n")
	if len(rows) != 5 || !strings.HasPrefix(rows[1], "large") || !strings.HasPrefix(rows[3], "(2)") || !strings.Contains(rows[3], "3.0 GiB") {
		t.Errorf("virtctl top vm shows\n%s", strings.Join(rows, "\n"))
	}
	zones := u.virtctl("top", "zone")
	zone := u.get("vm/large", ".status.zone")
	holds(t, "virtctl top zone", zones, "\n"+zone+" ", " GHz of ", "VM MEMORY")
}
