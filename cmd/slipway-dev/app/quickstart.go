// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/slipway-dev/slipway/artifacts"
	"github.com/slipway-dev/slipway/test/localcluster"
)

// quickstartTimeout is far above the boot time of the simulated guest (less than a second), for machines that are
// busy with builds.
const quickstartTimeout = 2 * time.Minute

// quickstart applies the example in the first run, waits for its VM, and returns a table of all VMs.
func (o *runOptions) quickstart(ctx context.Context, cluster *localcluster.Cluster, out *report) (string, error) {
	kubectl := localcluster.Kubectl(o.binDir)
	run := func(input []byte, args ...string) (string, error) {
		cmd := exec.CommandContext(ctx, kubectl, append([]string{"--kubeconfig", cluster.AdminKubeconfig}, args...)...)
		cmd.Stdin = bytes.NewReader(input)
		text, err := cmd.CombinedOutput()
		return strings.TrimSpace(string(text)), err
	}
	marker := filepath.Join(o.dataDir, "quickstart-applied")
	if _, err := os.Stat(marker); errors.Is(err, os.ErrNotExist) && !o.noQuickstart {
		begin := time.Now()
		// kubectl adds its annotation. Without it, an apply by the user would print warnings.
		if text, err := run(artifacts.Quickstart, "apply", "-f", "-"); err != nil {
			return "", fmt.Errorf("applying the quick start: %w: %s", err, text)
		}
		text, err := run(nil, "wait", "--namespace=default", "--for=condition=Ready", "virtualmachine/web-1", "--timeout="+quickstartTimeout.String())
		if err != nil {
			state, _ := run(nil, "get", "virtualmachine/web-1", "--namespace=default", "-o",
				`jsonpath={range .status.conditions[*]}{"\n  "}{.type}={.status} {.reason}: {.message}{end}`)
			return "", fmt.Errorf("the VM of the quick start did not become ready: %s; conditions:%s", text, state)
		}
		if err := os.WriteFile(marker, nil, 0o600); err != nil {
			return "", fmt.Errorf("recording that the quick start was applied: %w", err)
		}
		out.step("quick start: VM powered on, with an IP address", time.Since(begin))
	}
	table, err := run(nil, "get", "virtualmachines", "--all-namespaces")
	if err != nil {
		return "", fmt.Errorf("listing the VMs: %w: %s", err, table)
	}
	out.printf("\n%s\n", table)
	return table, nil
}

// hasQuickstart reports whether a table of VMs contains the VM of the quick start, which may have been deleted.
func hasQuickstart(table string) bool {
	for line := range strings.Lines(table) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "default" && f[1] == "web-1" {
			return true
		}
	}
	return false
}
