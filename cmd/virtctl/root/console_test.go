// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package root_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/test/clitest"
)

func consoleTicket() vmv1alpha1.VirtualMachineConsoleStatus {
	return vmv1alpha1.VirtualMachineConsoleStatus{
		URL: "wss://esx-1:443/ticket/secret", Host: "esx-1", Port: 443, Ticket: "secret", SSLThumbprint: "AA:BB", SSLThumbprintSHA256: "CC:DD",
		ExpirationTimestamp: metav1.NewTime(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)), RemoteConsoleURL: "vmrc://vc/?moid=vm-1",
	}
}

func TestConsole_PrintsConnectionDetails(t *testing.T) {
	s := &clitest.APIServer{VMs: []vmv1alpha1.VirtualMachine{clitest.Machine("dev", "a")}, Console: consoleTicket()}
	code, out, errOut := run(t, s, "console", "a")
	for _, want := range []string{" until 2026-05-01T12:00:00Z at the latest:", "\n  wss://esx-1:443/ticket/secret\n", "\nCertificate thumbprint of esx-1:\n  CC:DD\n", "\n  vmrc://vc/?moid=vm-1\n"} {
		if code != 0 || errOut != "" || !strings.Contains(out, want) {
			t.Errorf("exit code %d, errors %q, output without %q:\n%s", code, errOut, want, out)
		}
	}
	if len(s.Requests) != 1 || !strings.HasPrefix(s.Requests[0], clitest.APIPrefix+"dev/virtualmachines/a/console ") {
		t.Errorf("requests %q, want one POST to console", s.Requests)
	}
}

func TestConsole_PrintsObjectsForScripts(t *testing.T) {
	s := &clitest.APIServer{VMs: []vmv1alpha1.VirtualMachine{clitest.Machine("dev", "a")}, Console: consoleTicket()}
	code, out, errOut := run(t, s, "console", "a", "-o", "json")
	var got vmv1alpha1.VirtualMachineConsole
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != 0 {
		t.Fatalf("exit code %d, %v: %s%s", code, err, out, errOut)
	}
	if diff := cmp.Diff([]string{"VirtualMachineConsole", "wss://esx-1:443/ticket/secret"}, []string{got.Kind, got.Status.URL}); diff != "" {
		t.Error(diff)
	}
	if code, _, errOut := run(t, s, "console", "a", "-o", "table"); code != 1 || !strings.Contains(errOut, "use one of text, yaml, json") {
		t.Errorf("an unknown format: exit code %d, %q", code, errOut)
	}
	if code, _, errOut := run(t, s, "console", "gone"); code != 1 || errOut != "error: virtualmachine dev/gone: not found\n" {
		t.Errorf("a VM that is not there: exit code %d, %q", code, errOut)
	}
}

func TestScreenshot_WritesTheImageUnchanged(t *testing.T) {
	picture := []byte("\x89PNG\r\n\x1a\n\x00\x1b[31m")
	s := &clitest.APIServer{VMs: []vmv1alpha1.VirtualMachine{clitest.Machine("dev", "a")}, Picture: picture}
	file := filepath.Join(t.TempDir(), "a.png")
	code, out, errOut := run(t, s, "screenshot", "a", "-o", file)
	if code != 0 || out != "" || errOut != file+": 14 B\n" {
		t.Errorf("exit code %d, output %q, errors %q", code, out, errOut)
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(picture, got); diff != "" {
		t.Error(diff)
	}
	if code, out, _ = run(t, s, "screenshot", "a", "-o", "-"); code != 0 || out != string(picture) {
		t.Errorf("exit code %d, on standard output %q, want the picture", code, out)
	}
	if code, _, errOut = run(t, s, "screenshot", "a"); code != 1 || !strings.Contains(errOut, "--output is required") {
		t.Errorf("without a file: exit code %d, %q", code, errOut)
	}
	if code, _, errOut = run(t, s, "screenshot", "a", "-o", filepath.Join(t.TempDir(), "none", "a.png")); code != 1 || !strings.Contains(errOut, "writing the screenshot") {
		t.Errorf("into a directory that is not there: exit code %d, %q", code, errOut)
	}
}
