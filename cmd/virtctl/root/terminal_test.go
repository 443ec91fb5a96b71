// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package root_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/slipway-dev/slipway/cmd/virtctl/cli"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/test/clitest"
)

func TestTerminal_EscapesControlSequences(t *testing.T) {
	const evil = "x\u001b]0;OWNED\u0007\u001b[31mRED\r\u009b2J\u202e"
	result := clitest.Refreshed
	result.Fields = []vmv1alpha1.RefreshField{{Path: "gpus", New: evil + "\nprod   b\tu1.small"}}
	s := &clitest.APIServer{VMs: []vmv1alpha1.VirtualMachine{clitest.Machine("dev", "a")}, Refresh: result}

	for name, args := range map[string][]string{
		"answer in a table":  {"refresh", "instancetype", "a", "--dry-run"},
		"answer as YAML":     {"refresh", "instancetype", "a", "-o", "yaml"},
		"answer as JSON":     {"refresh", "instancetype", "a", "-o", "json"},
		"argument of a verb": {"stop", evil},
		"unknown command":    {evil},
		"value of a flag":    {"refresh", "instancetype", "a", "-o", evil},
	} {
		t.Run(name, func(t *testing.T) {
			_, out, errOut := run(t, s, args...)
			for _, r := range out + errOut {
				if unicode.IsControl(r) && r != '\n' && r != '\t' || r == '\u202e' {
					t.Errorf("%U reaches the terminal:\n%q\n%q", r, out, errOut)
					break
				}
			}
			if name == "answer in a table" && (strings.Count(out, "\n") != 2 || !strings.Contains(out, `x\u001b]0;OWNED\u0007\u001b[31mRED\u000d\u009b2J\u202e\u000aprod`)) {
				t.Errorf("got\n%swant one row that shows the characters", out)
			}
		})
	}
}

func TestTerminal_KeepsPlainText(t *testing.T) {
	for text, want := range map[string]string{
		"memory: 2Gi → 4Gi\n\ta": "memory: 2Gi → 4Gi\n\ta",
		"עברית 東京":               "עברית 東京",
		"a\xffb":                 `a\xffb`,
		"\ufffd":                 "\ufffd",
	} {
		if got := cli.Escape(text, "\n\t"); got != want {
			t.Errorf("escape(%q) = %q, want %q", text, got, want)
		}
	}
}
