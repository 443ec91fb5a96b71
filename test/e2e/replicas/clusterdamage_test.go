// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slipway-dev/slipway/test/localcluster/process"
)

// refuses starts a replica, and wants it to end by itself with one line that has all of texts.
func (s *set) refuses(i int, texts ...string) {
	s.Helper()
	started, err := process.Start(s.pods[i].spec)
	if err != nil {
		s.Fatal(err)
	}
	select {
	case <-started.Done():
	case <-time.After(time.Minute):
		_ = started.Kill()
		s.Fatalf("%s runs, want that it refuses and says %q", s.pods[i].name, texts)
	}
	said := fmt.Sprint(started.Failure())
	for line := range strings.Lines(said) {
		all := true
		for _, text := range texts {
			all = all && strings.Contains(line, text)
		}
		if all {
			return
		}
	}
	s.Fatalf("no line of %s has all of %q:\n%s", s.pods[i].name, texts, said)
}

// readOnly lets nobody write to what is shown at dir until done, which may be another directory.
func readOnly(t *testing.T, shown, dir string) (done func(), err error) {
	t.Helper()
	mount := func(args ...string) error {
		if out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, out)
		}
		return nil
	}
	if err := mount("mount", "--bind", shown, dir); err != nil {
		return nil, err
	}
	mounted := true
	done = func() {
		if mounted {
			mounted = false
			_ = exec.Command("umount", dir).Run() // also when the test has ended
		}
	}
	t.Cleanup(done)
	return done, mount("mount", "-o", "remount,bind,ro", dir)
}

func TestAReplicaWhoseVolumeCannotBeWrittenSaysSoAndBeginsNothing(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	l := newLoad(t, s.RestConfig())
	l.flows()
	s.scaled(3)
	s.start(1, 2)
	s.members(3)
	s.kill(2)
	dir := s.pods[2].dir
	for what, shown := range map[string]string{"its volume": dir, "an empty one": t.TempDir()} {
		done, err := readOnly(t, shown, dir)
		if err != nil {
			t.Logf("NOT RUN: %v", err)
			return
		}
		t.Logf("%s is read-only", what)
		s.refuses(2, dir, "read-only file system")
		l.flows()
		done()
	}
	s.start(2)
	s.members(3)
	l.flows()
	l.check()
}

// scribble overwrites what a database has beyond its two first pages, which say what it is.
func scribble(database string) error {
	f, err := os.OpenFile(database, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	const begins = 2 * 4096
	_, err = f.WriteAt(bytes.Repeat([]byte{0xa5}, int(info.Size())-begins), begins)
	return err
}

func TestAMemberWhoseDatabaseIsDamagedSaysSoAndIsReplacedAsDocumented(t *testing.T) {
	t.Parallel()
	s := newSet(t, "--shutdown-delay-duration=2s")
	s.service.keeps.Store(true)
	k := newKeeper(s)
	k.obey()
	l := newLoad(t, s.RestConfig())
	l.flows()
	s.scaled(3)
	k.obey()
	s.members(3)
	for _, damage := range []struct {
		what string
		do   func(database string) error
	}{
		{"truncated", func(database string) error { return os.Truncate(database, 20_000) }},
		{"overwritten", scribble},
	} {
		t.Logf("a database is %s", damage.what)
		dir := s.pods[1].dir
		s.kill(1)
		if err := damage.do(filepath.Join(dir, "member-data", "member", "snap", "db")); err != nil {
			t.Fatal(err)
		}
		s.refuses(1, "is damaged", "replace this one: remove what is in "+dir)
		l.flows()
		commands := s.documentedIn("### Several replicas with the embedded one")
		s.next(&commands, "configmap")
		k.typed(s.next(&commands, "delete pod")...)
		k.obey()
		s.members(3)
		l.flows()
	}
	l.check()
}
