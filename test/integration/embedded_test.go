// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/slipway-dev/slipway/test/integration/framework"
)

// counters returns the values of a metric for the series whose labels match a pattern.
func counters(t *testing.T, s *framework.Server, series string) map[string]float64 {
	t.Helper()
	values := map[string]float64{}
	line := regexp.MustCompile(`(?m)^` + series + ` (\S+)$`)
	for _, found := range line.FindAllStringSubmatch(string(getBody(t, s.Config(), "/metrics", "text/plain")), -1) {
		n, err := strconv.ParseFloat(found[len(found)-1], 64)
		if err != nil {
			t.Fatalf("reading %q: %v", found[0], err)
		}
		values[strings.Join(found[1:len(found)-1], " ")] += n
	}
	return values
}

// consistentReads counts the consistent lists: those that the watch cache served, and all others.
func consistentReads(t *testing.T, s *framework.Server) (cached, others float64) {
	t.Helper()
	for labels, n := range counters(t, s, `apiserver_watch_cache_consistent_read_total\{fallback="(\w+)",group="vm.slipway.dev",resource="virtualmachines",success="(\w+)"\}`) {
		if labels == "false true" {
			cached += n
		} else {
			others += n
		}
	}
	return cached, others
}

// Without progress notifications of watches each list would be read from etcd and decoded.
func TestEmbeddedEtcd_ConsistentListsAreServedFromTheWatchCache(t *testing.T) {
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
		t.Errorf("the watch cache served %v consistent lists, and %v were not served by it; want %d and none", cached-cachedBefore, others-othersBefore, lists)
	}
}

// Admission reads from the watch caches, and a revision never changes. A create or a change therefore reads only the
// object itself from etcd.
func TestAdmission_DoesNotReadFromEtcd(t *testing.T) {
	s := framework.StartStandalone(t)
	c := s.Client(t)
	source := createClusterInstancetype(t, c, "small", 2, "2Gi")
	vm := capture(t, c, createVM(t, c, typedVM("web", "small")), source)
	reads := func() map[string]float64 {
		return counters(t, s, `etcd_request_duration_seconds_count\{group="instancetype.slipway.dev",operation="(get)",resource="(\w+)"\}`)
	}
	vms := c.VmV1alpha1().VirtualMachines(namespace)
	// If a watch cache is stale, etcd is read. That is not tested here.
	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		name := vm.Status.InstancetypeRef.ControllerRevisionRef.Name
		_, err := c.InstancetypeV1alpha1().ControllerRevisions(namespace).Get(ctx, name, metav1.GetOptions{ResourceVersion: "0"})
		return err == nil, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	before := reads()
	for i := range 3 {
		createVM(t, c, typedVM("vm-"+strconv.Itoa(i), "small"))
		patch := fmt.Sprintf(`{"spec":{"guestID":"guest%d"}}`, i)
		if _, err := vms.Patch(t.Context(), vm.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(before, reads()); diff != "" {
		t.Errorf("reads of instance types and revisions (-before +after):\n%s", diff)
	}
}
