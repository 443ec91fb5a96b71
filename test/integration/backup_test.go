// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/slipway-dev/slipway/cmd/slipway-apiserver/app"
	"github.com/slipway-dev/slipway/pkg/apis/vm/backup"
	"github.com/slipway-dev/slipway/pkg/store/embedded"
	"github.com/slipway-dev/slipway/pkg/store/maintenance"
	"github.com/slipway-dev/slipway/test/integration/framework"
)

// save requests a snapshot of the store from a server.
func save(t *testing.T, config *rest.Config) (code int, body []byte) {
	t.Helper()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, config.Host+backup.Path, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	if body, err = io.ReadAll(answer.Body); err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, body
}

// A snapshot that is saved while the server runs, on demand or on schedule, has all earlier writes. A server that is
// restored from it serves them.
func TestStore_IsSavedWhileServedAndRestored(t *testing.T) {
	scheduled := filepath.Join(t.TempDir(), "snapshots")
	s := framework.StartStandaloneIn(t, t.TempDir(), func(o *app.Options) { o.Snapshots.Dir = scheduled })
	if _, err := s.Client(t).VmV1alpha1().VirtualMachines(namespace).Create(t.Context(), inlineVM("kept"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	stranger := s.Config()
	stranger.Impersonate = rest.ImpersonationConfig{UserName: "mallory"}
	if code, body := save(t, stranger); code != http.StatusForbidden || !strings.Contains(string(body), `cannot create resource \"backups\" in API group \"vm.slipway.dev\" at the cluster scope`) {
		t.Errorf("a stranger: %d %.200s", code, body)
	}
	code, body := save(t, s.ConfigFor("alice"))
	if code != http.StatusOK {
		t.Fatalf("%d %.200s", code, body)
	}
	file, dir := filepath.Join(t.TempDir(), "snapshot"), t.TempDir()
	if err := os.WriteFile(file, body, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := embedded.Restore(dir, file, false, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := framework.StartStandaloneIn(t, dir).Client(t).VmV1alpha1().VirtualMachines(namespace).Get(t.Context(), "kept", metav1.GetOptions{}); err != nil {
		t.Errorf("the restored store: %v", err)
	}

	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		all, err := filepath.Glob(filepath.Join(scheduled, "slipway-*.db"))
		return len(all) == 1, err
	})
	if err != nil {
		t.Fatalf("the schedule created no snapshot at the start: %v", err)
	}
	metrics, err := s.Client(t).Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(t.Context())
	if err != nil || !strings.Contains(string(metrics), "\nslipway_etcd_snapshot_timestamp_seconds ") || !strings.Contains(string(metrics), `slipway_etcd_snapshots_total{result="success"}`) {
		t.Errorf("no metrics of snapshots: %v", err)
	}
	for _, metric := range alertedOn(t) {
		if !strings.Contains(string(metrics), "\n"+metric) {
			t.Errorf("an alerting rule uses %s, which the server does not have", metric)
		}
	}
}

func TestStore_OfEtcdServersIsSavedByRequestAndBySchedule(t *testing.T) {
	scheduled := filepath.Join(t.TempDir(), "snapshots")
	etcd := startEtcd(t, 0)
	s := framework.StartStandaloneIn(t, "", withServers(etcd), func(o *app.Options) {
		o.Snapshots.Dir = scheduled
	})
	if _, err := s.Client(t).VmV1alpha1().VirtualMachines(namespace).Create(t.Context(), inlineVM("kept"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	code, body := save(t, s.ConfigFor("alice"))
	if code != http.StatusOK {
		t.Fatalf("%d %.200s", code, body)
	}
	file := filepath.Join(t.TempDir(), "snapshot")
	if err := os.WriteFile(file, body, 0o600); err != nil {
		t.Fatal(err)
	}
	if content, err := maintenance.CheckSnapshot(file, false); err != nil || content.Keys == 0 {
		t.Errorf("the snapshot: %+v, %v", content, err)
	}
	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		_, err := os.Stat(scheduled)
		return err == nil, nil
	})
	if err != nil {
		t.Errorf("the schedule does not run: %v", err)
	}
}

// alertedOn are the metrics of the alerting rules for the store.
func alertedOn(t *testing.T) []string {
	t.Helper()
	data, err := os.ReadFile("../../artifacts/monitoring/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var rules struct {
		Groups []struct {
			Name  string
			Rules []struct{ Alert, Expr string }
		}
	}
	if err := yaml.Unmarshal(data, &rules); err != nil {
		t.Fatal(err)
	}
	metric := regexp.MustCompile(`\b(slipway|etcd)_\w+`)
	var all []string
	for _, g := range rules.Groups {
		if g.Name != "slipway-store" { // the others are tested with controllers
			continue
		}
		for _, r := range g.Rules {
			found := metric.FindAllString(r.Expr, -1)
			if len(found) == 0 || r.Alert == "" {
				t.Errorf("rule %q uses no metric: %s", r.Alert, r.Expr)
			}
			all = append(all, found...)
		}
	}
	return all
}
