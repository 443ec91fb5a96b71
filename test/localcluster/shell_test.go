// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"os/exec"
	"testing"
)

func TestShellQuote_KeepsTheWord(t *testing.T) {
	for _, text := range []string{"/home/me/.slipway", "/with a space", "it's", "$(false)`false`", "~", "", "a\nb", `back\slash "quoted"`} {
		out, err := exec.Command("sh", "-c", "printf %s "+ShellWord(text)).Output()
		if err != nil || string(out) != text {
			t.Errorf("%q is read as %q, %v", text, out, err)
		}
	}
	if got := ShellWord("/home/me/.slipway"); got != "/home/me/.slipway" {
		t.Errorf("a plain path is written %s", got)
	}
}
