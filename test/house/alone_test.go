// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package house

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// beginAlone starts hack/alone.sh with a shell command. It returns the standard input and the
// standard error of that command.
func beginAlone(t *testing.T, dir, command string) (cmd *exec.Cmd, in io.WriteCloser, says *bufio.Reader) {
	t.Helper()
	cmd = exec.CommandContext(t.Context(), "../../hack/alone.sh", dir, "sh", "-c", command)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, in, bufio.NewReader(out)
}

func TestAloneScript_RunsBuildsOneByOneAndReportsTheWait(t *testing.T) {
	if _, err := exec.LookPath("flock"); err != nil {
		t.Logf("NOT RUN: %v", err)
		return
	}
	dir := filepath.Join(t.TempDir(), "a bin")
	log := filepath.Join(t.TempDir(), "log")
	first, hold, said := beginAlone(t, dir, "echo begun >&2; cat; echo first >>'"+log+"'")
	if line, err := said.ReadString('\n'); err != nil || line != "begun\n" {
		t.Fatalf("the output of the first is %q (%v)", line, err)
	}
	second, _, said := beginAlone(t, dir, "echo second >>'"+log+"'; exit 7")
	if line, err := said.ReadString('\n'); err != nil || line != "waiting for another make that builds into "+dir+"/\n" {
		t.Errorf("the output of the second is %q (%v)", line, err)
	}
	if err := hold.Close(); err != nil {
		t.Fatal(err)
	}
	if err := first.Wait(); err != nil {
		t.Error(err)
	}
	if err := second.Wait(); err == nil || second.ProcessState.ExitCode() != 7 {
		t.Errorf("the second ends with %v, want the code of its command", err)
	}
	if got, err := os.ReadFile(log); err != nil || string(got) != "first\nsecond\n" {
		t.Errorf("they were done in the order %q (%v)", got, err)
	}
}

func TestAloneScript_ReportsABuildThatIsNotFinished(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd, hold, says := beginAlone(t, dir, "cat")
	line, err := says.ReadString('\n')
	if err != nil || !regexp.MustCompile(`^`+regexp.QuoteMeta(dir)+`/: not finished after \d+ s\n$`).MatchString(line) {
		t.Errorf("the output is %q (%v)", line, err)
	}
	if err := hold.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, says); err != nil { // ends when the script reports no more
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
