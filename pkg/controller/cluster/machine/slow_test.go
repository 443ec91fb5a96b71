// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	"github.com/slipway-dev/slipway/pkg/cluster/workload"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/machine/drain"
)

// slow is an API server that responds to each request just before the client's timeout.
type slow struct{ requests int }

// RoundTrip implements http.RoundTripper.
func (s *slow) RoundTrip(r *http.Request) (*http.Response, error) {
	s.requests++
	select {
	case <-r.Context().Done():
		return nil, r.Context().Err()
	case <-time.After(9 * time.Second):
	}
	var answer runtime.Object = &metav1.Status{Status: metav1.StatusSuccess}
	code := http.StatusOK
	switch {
	case strings.HasSuffix(r.URL.Path, "/pods"):
		list := &corev1.PodList{}
		for i := range 20 {
			pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: fmt.Sprint("p", i)}, Spec: corev1.PodSpec{NodeName: "n"}}
			if i%2 == 0 {
				pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: fmt.Sprint("d", i), UID: "d", Controller: pointer(true)}}
			}
			list.Items = append(list.Items, pod)
		}
		answer = list
	case strings.Contains(r.URL.Path, "/daemonsets/"):
		answer, code = &metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound}, http.StatusNotFound
	case strings.HasSuffix(r.URL.Path, "/nodes/n"):
		answer = newNode()
	}
	raw, err := json.Marshal(answer)
	return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(raw))}, err
}

func TestReconcile_IsLimitedToAVisitOfASlowWorkloadCluster(t *testing.T) {
	for name, stage := range map[string]func(*machine){
		"a drain": func(*machine) {},
		"synchronizing, and a drain": func(m *machine) {
			m.Labels["node-role.kubernetes.io/worker"] = ""
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, newMachine(running, deleted, stage), newCluster(), provisionedInfra(), newNode())
				api := &slow{}
				f.client = kubernetes.NewForConfigOrDie(&rest.Config{Host: "https://slow", Transport: api, Timeout: 10 * time.Second})
				f.c.reconcile.deletion.Drain = drain.Drain
				begin := time.Now()
				_, err := f.tryReconcile()
				if took := time.Since(begin); took > workload.VisitTimeout {
					t.Errorf("the reconcile took %s and %d requests, %v", took, api.requests, err)
				}
				if is, text := f.condition("Deleting"); is != "True DrainingNode" || api.requests < 2 {
					t.Errorf("after %d requests Deleting is %s %q", api.requests, is, text)
				}
			})
		})
	}
}

func TestEvents_LimitResponsesOfWorkloadClusters(t *testing.T) {
	f := newFixture(t, newMachine(running, deleted), newCluster(), provisionedInfra(), newNode())
	f.drainErr = errors.New(strings.Repeat("x", 2*conditions.MaxNote))
	_, _ = f.tryReconcile()
	told := false
	for len(f.recorder.Events) > 0 {
		const before = "Warning FailedDrainNode "
		if e := <-f.recorder.Events; strings.HasPrefix(e, before) {
			if told = true; len(e) > len(before)+conditions.MaxNote {
				t.Errorf("the note has %d bytes", len(e)-len(before))
			}
		}
	}
	if !told {
		t.Error("no event was recorded")
	}
}

func TestReconcile_RequeuesIfTheClusterIsBusy(t *testing.T) {
	f := newFixture(t, newMachine(running, deleted), newCluster(), provisionedInfra(), newNode())
	f.busy = true
	if got := f.reconcile(); got.RequeueAfter != time.Second || f.drained != 0 || f.writes() != 0 {
		t.Errorf("requeued after %s, with %d drains; want 1s and none", got.RequeueAfter, f.drained)
	}
	f.busy = false
	if f.reconcile(); f.drained != 1 {
		t.Errorf("%d drains when a visit was possible, want 1", f.drained)
	}
	// The Node of a Machine that is not deleted is found anyway, and synchronized later.
	f = newFixture(t, newMachine(running), newCluster(), provisionedInfra(), newNode())
	f.busy = true
	if got := f.reconcile(); got.RequeueAfter != time.Second || f.synchronized() {
		t.Errorf("requeued after %s, the Node is synchronized: %t; want 1s and not yet", got.RequeueAfter, f.synchronized())
	}
	f.expect("NodeHealthy", "True NodeHealthy", "")
	f.busy = false
	if f.reconcile(); !f.synchronized() {
		t.Error("the Node was not synchronized when a visit was possible")
	}
}

func TestDrain_WaitsForAListSlot(t *testing.T) {
	f := newFixture(t, newMachine(running, deleted), newCluster(), provisionedInfra(), newNode())
	f.listing = true
	if got := f.reconcile(); got.RequeueAfter != time.Second || f.drained != 0 {
		t.Errorf("requeued after %s, with %d drains; want 1s and none", got.RequeueAfter, f.drained)
	}
	f.expect("Deleting", "True DrainingNode", "Drain not completed yet (started at 2026-05-01T12:00:00Z):")
	f.listing = false
	if f.reconcile(); f.drained != 1 {
		t.Errorf("%d drains when a slot was free, want 1", f.drained)
	}
}

func TestReconcile_WaitsWhileTheNodeIsRead(t *testing.T) {
	f := newFixture(t, newMachine(running), newCluster(), provisionedInfra(), newNode())
	f.reconcile()
	f.reading = true
	if got := f.reconcile().RequeueAfter; got != 10*time.Second {
		t.Errorf("requeued after %s, want 10s", got)
	}
	f.expect("NodeHealthy", "True NodeHealthy", "")

	// A Machine that is deleted before its Node was found still deletes the Node.
	f = newFixture(t, newMachine(provisioned, deleted), newCluster(), provisionedInfra(), newNode())
	f.reading = true
	f.edit(func(m *machine) { m.DeletionTimestamp = pointer(metav1.NewTime(began)) })
	if got := f.reconcile().RequeueAfter; got != time.Second || f.stage() != "" {
		t.Errorf("requeued after %s in stage %q, want 1s and no stage", got, f.stage())
	}
	f.expect("Deleting", "True Deleting", "Deletion started")
	f.reading = false
	if f.reconcile(); f.drained != 1 || f.machine().Status.NodeRef.Name != "n" {
		t.Errorf("%d drains of Node %q, want one of n", f.drained, f.machine().Status.NodeRef.Name)
	}
	f = newFixture(t, newMachine(provisioned, deleted), newCluster(), provisionedInfra(), newNode())
	f.reading = true
	f.edit(func(m *machine) { m.DeletionTimestamp = pointer(metav1.NewTime(began.Add(-time.Minute))) })
	if f.reconcile(); f.stage() == "" {
		t.Error("the deletion still waits after a minute")
	}
}

// synchronized reports whether Node "n" is annotated with its Machine.
func (f *fixture) synchronized() bool {
	f.t.Helper()
	n, err := f.workload.CoreV1().Nodes().Get(f.t.Context(), "n", metav1.GetOptions{})
	if err != nil {
		f.t.Fatal(err)
	}
	return n.Annotations[clusterv1alpha1.MachineAnnotation] == "m"
}
