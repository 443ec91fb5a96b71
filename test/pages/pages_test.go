// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package pages

import (
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-dev/slipway/test/localcluster"
	"github.com/slipway-dev/slipway/test/testenv"
)

func TestScript_HasOnlyConsoleBlocks(t *testing.T) {
	page := "# Title\n\n```console\nkubectl get vm\n```\n\n```text\nNAME\n```\n\n```sh\nvirtctl ssh web\n```\n\n```console\nkubectl apply -f - <<'EOF'\na: b\nEOF\n```\n"
	want := "set -eo pipefail\necho '# line 3'\nkubectl get vm\necho '# line 15'\nkubectl apply -f - <<'EOF'\na: b\nEOF\n"
	if got := script(page); got != want {
		t.Errorf("script is %q, want %q", got, want)
	}
	if got := script("```sh\nkubectl get vm\n```\n"); got != "" {
		t.Errorf("script of a page without console blocks is %q, want none", got)
	}
}

// TestPages_CommandsSucceed types every page of docs/tutorials and docs/how-to.
func TestPages_CommandsSucceed(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := environment(t)
	pages := 0
	for _, kind := range []string{"docs/tutorials", "docs/how-to"} {
		err := filepath.WalkDir(filepath.Join(root, kind), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(path) != ".md" {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			commands := script(string(text))
			if commands == "" {
				return nil
			}
			pages++
			name, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			t.Run(name, func(t *testing.T) { runPage(t, root, dir, commands) })
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if pages < 20 {
		t.Errorf("%d pages have commands, want at least 20", pages)
	}
}

// environment starts slipway-dev and returns its data directory. It is removed at the end of the test.
func environment(t *testing.T) string {
	dir := t.TempDir()
	program := filepath.Join(testenv.BinDir(), "slipway-dev")
	t.Cleanup(func() {
		if out, err := exec.Command(program, "reset", "--data-dir="+dir).CombinedOutput(); err != nil {
			t.Errorf("slipway-dev reset: %v\n%s", err, out)
		}
	})
	if out, err := exec.CommandContext(t.Context(), program, "up", "--unsafe-no-fsync", "--data-dir="+dir).CombinedOutput(); err != nil {
		t.Fatalf("slipway-dev up: %v\n%s", err, out)
	}
	return dir
}

// runPage runs the commands of a page in a namespace of its own, which it deletes afterwards.
func runPage(t *testing.T, root, dir, commands string) {
	work, home := t.TempDir(), t.TempDir()
	admin, err := os.ReadFile(localcluster.AdminKubeconfig(dir))
	if err != nil {
		t.Fatal(err)
	}
	// The tutorial reads files of the environment in the directory of the kubeconfig.
	kubeconfig := filepath.Join(dir, "page.kubeconfig")
	t.Cleanup(func() { _ = os.Remove(kubeconfig) })
	if err := os.WriteFile(kubeconfig, admin, 0o600); err != nil {
		t.Fatal(err)
	}
	bash := func(ctx context.Context, commands string) {
		cmd := exec.CommandContext(ctx, "bash", "-c", commands)
		cmd.Dir = work
		cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "EXAMPLES="+filepath.Join(root, "artifacts/examples"),
			"HOME="+home, "PATH="+testenv.BinDir()+string(os.PathListSeparator)+os.Getenv("PATH"))
		cmd.WaitDelay = testenv.Short // for files that a background process of the page holds open
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v; the last lines of the output:\n%s", err, tail(string(out), 25))
		}
	}
	namespace := "page-" + strings.TrimSuffix(filepath.Base(t.Name()), ".md")
	bash(t.Context(), "kubectl create namespace "+namespace+" && kubectl config set-context --current --namespace="+namespace)
	t.Cleanup(func() { bash(context.Background(), "kubectl delete namespace --wait=false "+namespace) })
	bash(t.Context(), commands)
}

// tail returns the last n lines of text.
func tail(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
