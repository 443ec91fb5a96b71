// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"encoding/json"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

func TestConsolesAreARightOfTheirOwn(t *testing.T) {
	t.Parallel()
	u := admin(t)
	u.apply(catalogue + vmManifest("shown"))
	dora, olaf := editor(t, u, "dora"), editor(t, u, "olaf")
	u.kubectl("create", "role", "console", "--verb=create", "--resource=virtualmachines.vm.slipway.dev/console")
	u.kubectl("create", "rolebinding", "olaf-console", "--role=console", "--user=olaf")
	u.kubectl("wait", "--for=condition=Ready", "vm/shown", "--timeout=90s")

	_, errOut, err := dora.try("", "virtctl", "console", "shown")
	if err == nil || !strings.Contains(errOut, "virtualmachines/console") {
		t.Errorf("a console without the right: %v %s", err, errOut)
	}
	var got vmv1alpha1.VirtualMachineConsole
	eventually(t, short, "olaf gets a console", func() error { // denials are cached for some seconds
		out, errOut, err := olaf.try("", "virtctl", "console", "shown", "-o", "json")
		if err != nil {
			return errorf("%s", errOut)
		}
		return json.Unmarshal([]byte(out), &got)
	})
	if s := got.Status; s.Ticket == "" || s.URL != "wss://"+s.Host+":443/ticket/"+s.Ticket || s.SSLThumbprintSHA256 == "" ||
		strings.Contains(s.RemoteConsoleURL, s.Ticket) || s.Host != u.get("vm/shown", ".status.nodeName") {
		t.Errorf("the console has host %q, port %d, link %q, thumbprint %q, URL with ticket %t", s.Host, s.Port, s.RemoteConsoleURL, s.SSLThumbprintSHA256,
			s.Ticket != "" && strings.HasSuffix(s.URL, s.Ticket))
	}
	again := olaf.virtctl("console", "shown")
	if strings.Contains(again, got.Status.Ticket) || !strings.Contains(again, "wss://"+got.Status.Host) {
		t.Errorf("a second console has the ticket of the first, or no URL")
	}
	if stored := u.kubectl("get", "vm/shown", "-o", "yaml"); strings.Contains(stored, got.Status.Ticket) {
		t.Error("the ticket is stored")
	}
	_, errOut, err = olaf.try("", "virtctl", "screenshot", "shown", "-o", "-")
	if err == nil || !strings.Contains(errOut, "virtualmachines/screenshot") {
		t.Errorf("a screenshot without the right: %v %s", err, errOut)
	}
	u.virtctl("stop", "shown", "--mode", "Hard", "--wait")
	if state := u.get("vm/shown", ".status.powerState"); state != "PoweredOff" {
		t.Errorf("after stop --wait the power state is %q", state)
	}
	if _, errOut, err := u.try("", "virtctl", "console", "shown"); err == nil || !strings.Contains(errOut, "not powered on") {
		t.Errorf("a console of what is off: %v %s", err, errOut)
	}
}

func TestScreenshotsArePNG(t *testing.T) {
	t.Parallel()
	u := admin(t)
	u.apply(catalogue + vmManifest("pictured"))
	nora := editor(t, u, "nora")
	u.kubectl("create", "rolebinding", "nora-console", "--clusterrole=slipway-console", "--user=nora")
	out := nora.virtctl("start", "pictured", "--wait", "--ready", "--timeout", "100s")
	if !strings.HasSuffix(out, "is Ready\n") {
		t.Errorf("start --wait --ready printed %q", out)
	}
	file := filepath.Join(t.TempDir(), "a.png")
	eventually(t, short, "nora takes a picture", func() error { // denials are cached for some seconds
		if _, errOut, err := nora.try("", "virtctl", "screenshot", "pictured", "-o", file); err != nil {
			return errorf("%s", errOut)
		}
		return nil
	})
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	raw := nora.kubectl("get", "--raw", "/apis/vm.slipway.dev/v1alpha1/namespaces/"+u.namespace+"/virtualmachines/pictured/screenshot")
	for by, picture := range map[string][]byte{"virtctl": data, "kubectl": []byte(raw)} {
		if _, err := png.Decode(bytes.NewReader(picture)); err != nil {
			t.Errorf("what %s got, %d bytes, is no PNG: %v", by, len(picture), err)
		}
	}
}

// The ssh that is called is one that writes down what it was asked for.
func TestSSHGoesToTheAddressOfTheVM(t *testing.T) {
	u := admin(t)
	u.apply(catalogue + vmManifest("reached"))
	u.kubectl("wait", "--for=condition=Ready", "vm/reached", "--timeout=90s")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ssh"), []byte("#!/bin/sh\nfor a; do echo \"$a\"; done\nexit 7\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, errOut, err := u.try("", "virtctl", "ssh", "root@reached", "--", "uname", "-a")
	want := "root\n" + u.get("vm/reached", ".status.network.primaryIP4") + "\nuname\n-a\n"
	if err == nil || err.Error() != "exit status 7" || !strings.HasSuffix(out, want) || !strings.Contains(out, "HostKeyAlias="+u.get("vm/reached", ".metadata.uid")) {
		t.Errorf("ssh ended with %v %s and was asked for %q, want code 7, the alias by UID, and %q", err, errOut, out, want)
	}
}
