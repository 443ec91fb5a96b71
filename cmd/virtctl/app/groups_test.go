// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"os"
	"slices"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

func TestHelpHasEveryCommandInAGroup(t *testing.T) {
	code, out, errOut := run(t, &apiServer{}, "--help")
	if code != 0 || strings.Contains(out, "Additional Commands:") {
		t.Errorf("exit %d: some commands are in no group: %s\n%s", code, errOut, out)
	}
	for _, title := range []string{"Look at virtual machines:\n", "Install and run Slipway:\n", "Other commands:\n  completion "} {
		if !strings.Contains(out, title) {
			t.Errorf("there is no %q:\n%s", title, out)
		}
	}
}

func TestTheREADMENamesEveryCommand(t *testing.T) {
	readme, err := os.ReadFile("../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, row, _ := strings.Cut(string(readme), "\n| `virtctl` | ")
	row, _, _ = strings.Cut(row, " |\n")
	words := strings.FieldsFunc(row, func(r rune) bool { return r == ',' || r == ' ' || r == ';' || r == '.' || r == '`' })
	root := NewCommand("virtctl", newFactory(genericclioptions.NewConfigFlags(true), genericiooptions.NewTestIOStreamsDiscard()))
	for _, c := range root.Commands() {
		if c.Name() != "help" && !slices.Contains(words, c.Name()) {
			t.Errorf("the README's row of virtctl does not name %s: %s", c.Name(), row)
		}
	}
}
