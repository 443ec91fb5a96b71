// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package pages

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-dev/slipway/test/localcluster"
	"github.com/slipway-dev/slipway/test/testenv"
)

// localNote begins the note in the header of an example that does not become Ready in the local environment.
const localNote = "# Local environment: "

func TestExamples_BecomeReadyUnlessTheirHeadersExclude(t *testing.T) {
	files, err := filepath.Glob("../../artifacts/examples/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("examples %v, %v", files, err)
	}
	dir := environment(t)
	kubectl := func(args ...string) string {
		t.Helper()
		args = append([]string{"--kubeconfig", localcluster.AdminKubeconfig(dir), "--namespace=default"}, args...)
		out, err := exec.CommandContext(t.Context(), localcluster.Kubectl(testenv.BinDir()), args...).CombinedOutput()
		if err != nil || strings.Contains(string(out), "Warning") {
			t.Errorf("kubectl %q: %v\n%s", args[3:], err, out)
		}
		return string(out)
	}
	kubectl("label", "namespace", "default", "images.example.com/publish=true") // the header of publish.yaml requires it
	applied := 0
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(content), localNote) {
			continue
		}
		applied++
		// Some examples have objects of another namespace, which --namespace would contradict.
		if strings.Contains(string(content), "namespace: team-a\n") {
			kubectl("apply", "--namespace=team-a", "-f", file)
		} else {
			kubectl("apply", "-f", file)
		}
	}
	if applied < len(files)/2 {
		t.Errorf("%d of %d examples have a note, want less than half", len(files)-applied, len(files))
	}
	for _, kind := range []string{"vm", "vmgroup", "vmsnap", "vmicache", "vmimage", "cvmimage", "contentlibrary", "zones", "vcenters"} {
		kubectl("wait", "--for=condition=Ready", "--timeout=3m", "--all", kind)
	}
	kubectl("wait", "--for=condition=Complete", "--timeout=3m", "--all", "vmpub")
}
