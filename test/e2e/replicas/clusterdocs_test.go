// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-dev/slipway/test/documented"
)

// documentedIn are the commands of a section.
func (s *set) documentedIn(heading string) []string {
	s.Helper()
	all, err := documented.Commands(root, heading)
	if err != nil {
		s.Fatal(err)
	}
	return all
}

// next takes commands up to, and with, the first that has a text.
func (s *set) next(commands *[]string, text string) []string {
	s.Helper()
	for i, command := range *commands {
		if strings.Contains(command, text) {
			taken := (*commands)[:i+1]
			*commands = (*commands)[i+1:]
			return taken
		}
	}
	s.Fatalf("none of %q has %q", *commands, text)
	return nil
}

// kept types commands, and wants no request to fail meanwhile.
func (k *keeper) kept(l *load, what string, commands ...string) (said string) {
	k.Helper()
	l.during(what, func() {
		for _, command := range commands {
			said = k.typed(command)
			k.obey()
		}
		l.flows()
	})
	if failed := l.failed(); len(failed) > 0 {
		k.Errorf("%s: requests failed: %v", what, failed)
	}
	return said
}

func TestReplicasGrowAreReplacedAndRecoverAsDocumented(t *testing.T) {
	t.Parallel()
	s := newSet(t, "--shutdown-delay-duration=2s")
	s.service.keeps.Store(true)
	k := newKeeper(s)
	k.obey()
	l := newLoad(t, s.RestConfig())
	l.flows()

	commands := s.documentedIn("### Several replicas with the embedded one")
	k.kept(l, "grow", s.next(&commands, "--replicas=3")...)
	s.members(3)
	if said := k.kept(l, "look", s.next(&commands, "configmap")...); strings.Count(said, "\n") != 3 || !strings.Contains(said, setName+"-2 ") {
		t.Errorf("the documented command shows\n%s", said)
	}
	// The node is lost, so that nobody tells the process to stop.
	s.kill(1)
	l.during("replace", func() {
		for _, command := range s.next(&commands, "delete pod") {
			k.typed(command)
		}
		k.obey()
		l.flows()
	})
	s.members(3)
	k.kept(l, "shrink", s.next(&commands, "--replicas=1")...)
	s.members(1)
	l.check()

	if !*long {
		return
	}
	k.typed(s.documentedIn("### Several replicas with the embedded one")[0])
	k.obey()
	s.members(3)
	for _, i := range []int{1, 2} {
		s.kill(i)
		if err := os.RemoveAll(s.pods[i].dir); err != nil {
			t.Fatal(err)
		}
	}
	s.hasNoQuorum(0, []int{1, 2})
	// As if the lost ones had had more.
	patch := []byte(`{"data":{"revision":"1000000"}}`)
	if _, err := s.host().CoreV1().ConfigMaps(systemNamespace).Patch(t.Context(), "slipway-store", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	k.typed(s.next(&commands, "delete pod")...)
	k.obey()
	s.members(3)
	const release = "etcd release"
	if said := k.typed(s.next(&commands, release)...); !strings.Contains(said, "released: ") {
		t.Errorf("after the recovery %s says %s", release, said)
	}
	if _, err := s.client(s.pods[2].direct).VmV1alpha1().VirtualMachineClasses(namespace).Get(t.Context(), "load-0", metav1.GetOptions{}); err != nil {
		t.Errorf("after the recovery: %v", err)
	}
}

func TestTheAuthorityOfTheMembersIsReplacedAsDocumented(t *testing.T) {
	t.Parallel()
	s := newSet(t, "--shutdown-delay-duration=2s")
	s.service.keeps.Store(true)
	k := newKeeper(s)
	k.obey()
	s.scaled(3)
	k.obey()
	s.members(3)
	trusted := func(i int) string {
		t.Helper()
		data, err := os.ReadFile(filepath.Join(s.pods[i].dir, "peer", "peer-ca.pem"))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	old := trusted(0)
	l := newLoad(t, s.RestConfig())
	l.flows()
	k.kept(l, "the authority is replaced", s.documentedIn("### The authority of the members")...)
	for i, p := range s.pods {
		if now := trusted(i); strings.Count(now, "BEGIN CERTIFICATE") != 1 || now == old {
			t.Errorf("%s trusts\n%s", p.name, now)
		}
	}
	if left, err := os.ReadDir(k.typing); err != nil || len(left) > 1 { // kubectl keeps a cache
		t.Errorf("left over: %v (error %v)", left, err)
	}
	l.check()
}
