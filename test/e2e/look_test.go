// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-dev/slipway/test/testenv"
)

// The output of virtctl for a running VM and a waiting one.
func TestVirtctl_ShowsBlockingReasonsAndRunningOperations(t *testing.T) {
	t.Parallel()
	u := admin(t)
	u.Put(testenv.Catalogue + testenv.VM("web", "powerState: PoweredOff") + testenv.InlineVM("lost", "nowhere"))
	u.Meets("Created", "vm/web")
	u.part("as a plugin of kubectl", func(t *testing.T, u user) {
		if out, _, err := testenv.Run(t, "", "kubectl", "virt", "--help"); err != nil || !strings.Contains(out, "kubectl virt [command]") {
			t.Errorf("kubectl virt --help: %v\n%s", err, out)
		}
		if out, errOut, err := testenv.Run(t, "", "kubectl", "virt", "start", "web", "--kubeconfig", u.Kubeconfig, "--namespace", u.Namespace); err != nil || !strings.Contains(out, u.Namespace+"/web will be powered on") {
			t.Errorf("kubectl virt start: %v\n%s%s", err, out, errOut)
		}
		if out, errOut, err := testenv.Run(t, "", "kubectl", "__complete", "virt", "stop", "--kubeconfig", u.Kubeconfig, "--namespace", u.Namespace, "web", ""); err != nil || !strings.HasPrefix(out, "lost\n") {
			t.Errorf("kubectl completes the names of VMs: %v\n%s%s", err, out, errOut)
		}
		u.Ready("vm/web")
	})
	u.part("described", func(t *testing.T, u user) { u.described(t) })
	u.part("its events", func(t *testing.T, u user) { u.watched(t) })
	u.part("reached by ssh", func(t *testing.T, u user) { u.reached(t) })
}

func (u user) described(t *testing.T) {
	u.Wants("vm/lost", ".status.printableStatus", "ImageNotFound")
	testenv.Holds(t, "virtctl describe of one that waits", u.Virtctl("describe", "lost"),
		"Status:      ImageNotFound\n", `VirtualMachineImage "nowhere" does not exist`, "ImageReady=False", "powerState   PoweredOn   -         not yet")

	u.Virtctl("snapshot", "create", "web", "before", "--wait")
	u.Patch("virtualmachineinstancetype/small", `{"spec":{"cpu":{"guest":8}}}`)
	u.Wants("vm/web", ".status.instancetypeRef.outdated", "true")
	u.Wants("vm/web", ".status.currentSnapshot", "before")
	testenv.Eventually(t, testenv.Short, "the events exist", func() error {
		if out := u.Virtctl("events", "web"); !strings.Contains(out, "PoweredOn") || !strings.Contains(out, "virtualmachinesnapshot/before") {
			return fmt.Errorf("%s", out)
		}
		return nil
	})
	screen := u.Virtctl("describe", "web")
	testenv.Holds(t, "virtctl describe of one that runs", screen, "small (namespaced), generation 1, OUTDATED: generation 2 is available", "All conditions are fulfilled.", "created in vSphere",
		"snapshot before taken", "powerState   PoweredOn   PoweredOn   same", "(boot disk)", u.Get("vm/web", ".status.network.primaryIP4"), u.Get("vm/web", ".status.uniqueID"))
	if strings.Contains(screen, "lost") {
		t.Errorf("it shows data of another VM:\n%s", screen)
	}
}

// watched runs virtctl as a separate process, which the test kills.
func (u user) watched(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), testenv.Long)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(testenv.BinDir(), "virtctl"), "--kubeconfig", u.Kubeconfig, "--namespace", u.Namespace, "events", "web", "--watch")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	seen := bufio.NewScanner(out)
	// until reads lines until one has the texts.
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
	u.Virtctl("snapshot", "create", "web", "later")
	until("Ready", "virtualmachinesnapshot/later")
	cancel()
	_ = cmd.Wait() // it is killed
}

// reached tests virtctl ssh with an ssh that records its arguments.
func (u user) reached(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ssh"), []byte("#!/bin/sh\nfor a; do echo \"$a\"; done\nexit 7\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(testenv.BinDir(), "virtctl"), "--kubeconfig", u.Kubeconfig, "--namespace", u.Namespace, "ssh", "root@web", "--", "uname", "-a")
	cmd.Env = append(os.Environ(), "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := cmd.Output()
	want := "root\n" + u.Get("vm/web", ".status.network.primaryIP4") + "\nuname\n-a\n"
	if err == nil || err.Error() != "exit status 7" || !strings.HasSuffix(string(out), want) || !strings.Contains(string(out), "HostKeyAlias="+u.Get("vm/web", ".metadata.uid")) {
		t.Errorf("ssh ended with %v and was asked for %q, want code 7, the alias by UID, and %q", err, out, want)
	}
}
