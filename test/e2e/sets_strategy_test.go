// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"github.com/slipway-dev/slipway/test/argocd"
	"github.com/slipway-dev/slipway/test/testenv"
)

// patch applies a merge patch to the deployment.
func (s *setScene) patch(text string) {
	s.Helper()
	s.Patch("machinedeployment/workers", text)
}

// status returns the result of the kstatus library, which Flux and kpt use, for an object.
func (s *setScene) status(object string) kstatus.Status {
	s.Helper()
	is := &unstructured.Unstructured{}
	s.Must(is.UnmarshalJSON([]byte(s.Kubectl("get", object, "-o", "json"))))
	got, err := kstatus.Compute(is)
	s.Must(err)
	checks, err := argocd.Shipped()
	s.Must(err)
	s.Must(checks.Agree(is, got))
	return got.Status
}

// statuses compares kstatus results of objects. Arguments are pairs of object and status.
func (s *setScene) statuses(when string, pairs ...string) {
	s.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if got := s.status(pairs[i]); string(got) != pairs[i+1] {
			s.Errorf("kstatus is %s for %s %s, want %s", got, pairs[i], when, pairs[i+1])
		}
	}
}

// replaced waits until the previous Machines are deleted and this many are available.
func (s *setScene) replaced(before []string, n int) {
	s.Helper()
	s.Eventually("all Machines are others", func() error {
		for _, name := range s.Machines() {
			if slices.Contains(before, name) {
				return errors.New(s.Overview())
			}
		}
		return nil
	})
	s.Available(n)
}

func TestMachineDeployment_RollsByItsStrategy(t *testing.T) {
	t.Parallel()
	s := newSetScene(t)
	s.Put(testenv.Workers(2, "rollout: {strategy: {type: OnDelete}}"))
	s.statuses("that was just made", "machinedeployment/workers", "InProgress")
	s.Available(2)
	first := s.Machines()
	s.Wants("machines.cluster.slipway.dev/"+first[0], `.status.conditions[?(@.type=="Ready")].status`, "True")
	s.Wants("clusters.cluster.slipway.dev/c", `.status.conditions[?(@.type=="Available")].status`, "True")
	set := strings.TrimSpace(s.Kubectl("get", "machinesets", "-o", "name"))
	s.statuses("that has all it wants",
		"machinedeployment/workers", "Current", set, "Current", "machines.cluster.slipway.dev/"+first[0], "Current", "clusters.cluster.slipway.dev/c", "Current")

	t.Log("OnDelete: a Machine is replaced only after a user deletes it")
	s.UseTemplate("large")
	s.Wants("machinedeployment/workers", ".status.upToDateReplicas", "0")
	s.Eventually("there is a set of the other template", func() error {
		list, err := s.API.ClusterV1alpha1().MachineSets(s.Namespace).List(t.Context(), metav1.ListOptions{})
		if err == nil && len(list.Items) != 2 {
			err = fmt.Errorf("%d sets", len(list.Items))
		}
		return err
	})
	if got := s.Machines(); !slices.Equal(got, first) {
		t.Errorf("Machines are %s, want %s as before", got, first)
	}
	s.Delete("machines.cluster.slipway.dev/" + first[0])
	s.Wants("machinedeployment/workers", ".status.upToDateReplicas", "1")
	s.Wants("machinedeployment/workers", ".status.availableReplicas", "2")
	if got := s.Machines(); !slices.Contains(got, first[1]) || len(got) != 2 || s.Sizes() != "large small" {
		t.Errorf("Machines are %s of %s, want %s and one large one", got, s.Sizes(), first[1])
	}

	t.Log("RollingUpdate: the Machines of the previous template are deleted")
	s.patch(`{"spec":{"rollout":{"strategy":{"type":"RollingUpdate"}}}}`)
	s.Available(2)
	if got := s.Sizes(); got != "large large" {
		t.Errorf("virtual machines are %s", got)
	}

	t.Log("rollout.after: the same template again, and not before its time")
	before := s.Machines()
	at := metav1.NewTime(time.Now().Add(8 * time.Second).Truncate(time.Second))
	s.patch(fmt.Sprintf(`{"spec":{"rollout":{"after":%q}}}`, at.UTC().Format(time.RFC3339)))
	generation := s.Get("machinedeployment/workers", ".metadata.generation")
	s.Wants("machinedeployment/workers", ".status.observedGeneration", generation)
	if got := s.Machines(); !slices.Equal(got, before) && time.Now().Before(at.Time) {
		t.Errorf("before %s Machines are %s, want %s as before", at, got, before)
	}
	s.replaced(before, 2)
	s.Eventually("every Machine was made after it", func() error {
		list, err := s.API.ClusterV1alpha1().Machines(s.Namespace).List(t.Context(), metav1.ListOptions{})
		for i := range list.Items {
			if m := &list.Items[i]; m.CreationTimestamp.Before(&at) {
				return fmt.Errorf("%s was made at %s", m.Name, m.CreationTimestamp)
			}
		}
		return err
	})

	t.Log("deleted Machines are Terminating")
	s.Annotate("machines.cluster.slipway.dev/"+s.Machines()[0], "pre-terminate.delete.hook.machine.cluster.x-k8s.io/test=")
	last := s.Machines()[0]
	s.Remove("machines.cluster.slipway.dev/" + last)
	s.statuses("that is deleted", "machines.cluster.slipway.dev/"+last, "Terminating")
	s.Annotate("machines.cluster.slipway.dev/"+last, "pre-terminate.delete.hook.machine.cluster.x-k8s.io/test-")
	s.Available(2)
}
