// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"regexp"
	"strconv"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/slipway-dev/slipway/test/integration/framework"
)

// consistentReads counts the lists that needed the latest state: those that the watch
// cache answered by itself, and all others.
func consistentReads(t *testing.T, s *framework.Server) (cached, others float64) {
	t.Helper()
	line := regexp.MustCompile(`(?m)^apiserver_watch_cache_consistent_read_total\{fallback="(\w+)",group="vm.slipway.dev",resource="virtualmachines",success="(\w+)"\} (\S+)$`)
	for _, found := range line.FindAllStringSubmatch(string(getBody(t, s.Config(), "/metrics", "text/plain")), -1) {
		n, err := strconv.ParseFloat(found[3], 64)
		if err != nil {
			t.Fatalf("reading %q: %v", found[0], err)
		}
		if found[1] == "false" && found[2] == "true" {
			cached += n
		} else {
			others += n
		}
	}
	return cached, others
}

// Without the progress of watches each list would be read and decoded from etcd.
func TestConsistentListsAreAnsweredByTheWatchCacheOverTheEmbeddedEtcd(t *testing.T) {
	const lists = 20
	s := framework.StartStandalone(t)
	c := s.Client(t)
	createClusterInstancetype(t, c, "small", 2, "2Gi")
	vms := c.VmV1alpha1().VirtualMachines(namespace)
	w, err := vms.Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	cachedBefore, othersBefore := consistentReads(t, s)
	for i := range lists {
		createVM(t, c, typedVM("vm-"+strconv.Itoa(i), "small"))
		list, err := vms.List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if len(list.Items) != i+1 {
			t.Errorf("a list has %d VMs, want %d", len(list.Items), i+1)
		}
		if event := <-w.ResultChan(); event.Type != watch.Added {
			t.Errorf("the watch saw %s, want ADDED", event.Type)
		}
	}
	cached, others := consistentReads(t, s)
	if cached-cachedBefore != lists || others != othersBefore {
		t.Errorf("the watch cache answered %v consistent lists, and %v went another way; want %d and none", cached-cachedBefore, others-othersBefore, lists)
	}
}
