// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestReplicasThatHaveLostEverythingBeginAnewAsDocumented(t *testing.T) {
	t.Parallel()
	s := newSet(t, "--shutdown-delay-duration=0s")
	s.service.keeps.Store(true)
	k := newKeeper(s)
	k.obey()
	s.scaled(3)
	k.obey()
	s.members(3)
	s.apply("before")

	commands := s.documentedIn("### Lose everything")
	k.typed(s.next(&commands, "--replicas=0")...)
	k.obey()
	k.typed(commands...)
	for i := range s.pods {
		k.claim(i)
		k.pod(i)
	}
	restarted := make(chan error, 1)
	go func() { restarted <- s.RestartSlipway(t.Context()) }()
	s.begin(1, 2)
	id := s.refused(0)
	s.members(3)
	k.typed("kubectl annotate configmap --overwrite -n slipway-system slipway-store slipway.dev/accept-store=" + id)
	if err := <-restarted; err != nil {
		t.Fatal(err)
	}
	k.obey()
	for _, p := range s.pods {
		s.eventually(p.name+" serves an empty store", func() error {
			_, err := s.client(p.direct).VmV1alpha1().VirtualMachines(namespace).Get(t.Context(), "before", metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return nil
			}
			return errors.Join(errors.New("it has another answer"), err)
		})
	}
}

// refused waits until a replica does not serve its store, and returns the ID of that.
func (s *set) refused(i int) (id string) {
	s.Helper()
	s.eventually(s.pods[i].name+" refuses its store", func() error {
		_, _, text := s.ask(s.pods[i].direct, "/apis/vm.slipway.dev/v1alpha1/namespaces/default/virtualmachines/before")
		_, accept, found := strings.Cut(text, "slipway.dev/accept-store=")
		id, _, _ = strings.Cut(accept, `"`)
		if !found {
			return errors.New(text)
		}
		return nil
	})
	return id
}
