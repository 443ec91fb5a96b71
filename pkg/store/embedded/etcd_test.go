// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"k8s.io/klog/v2"
)

func start(t *testing.T, dir string) *Server {
	t.Helper()
	return startWith(t, Options{Dir: dir})
}

func startWith(t *testing.T, o Options) *Server {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	o.UnsafeNoFsync = true
	s, err := Start(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func connect(t *testing.T, s *Server) *clientv3.Client {
	t.Helper()
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{s.Endpoint()}, Logger: zap.NewNop(), DialTimeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestEtcd_KeepsDataAfterARestart(t *testing.T) {
	dir := t.TempDir()
	first := start(t, dir)
	c := connect(t, first)
	if _, err := c.Put(t.Context(), "/k", "v1"); err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
	first.Close()
	first.Close() // a second Close is allowed

	second := start(t, dir)
	got, err := connect(t, second).Get(t.Context(), "/k")
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Kvs) != 1 || string(got.Kvs[0].Value) != "v1" {
		t.Fatalf("after a restart /k = %v, want v1", got.Kvs)
	}
}

func TestEtcd_RejectsADirectoryInUse(t *testing.T) {
	dir := t.TempDir()
	s := start(t, dir)
	_, err := Start(t.Context(), Options{Dir: dir, UnsafeNoFsync: true})
	if err == nil || !strings.Contains(err.Error(), "in use by another process") {
		t.Fatalf("second start: error %v, want one that reports the directory as in use", err)
	}
	if _, err := connect(t, s).Put(t.Context(), "/k", "v"); err != nil {
		t.Fatalf("the first server was harmed: %v", err)
	}
}

func TestSocket_OfADeepDirectoryHasAShortPath(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("d", 120))
	s := start(t, dir)
	path := strings.TrimPrefix(s.Endpoint(), "unix://")
	if len(path) > maxSocketPath {
		t.Fatalf("socket path has %d bytes, more than %d: %s", len(path), maxSocketPath, path)
	}
	if _, err := connect(t, s).Put(t.Context(), "/k", "v"); err != nil {
		t.Fatal(err)
	}
	s.Close()
	if _, err := os.Stat(filepath.Dir(path)); !os.IsNotExist(err) {
		t.Fatalf("Close left the temporary socket directory: %v", err)
	}
}

func TestSocket_LeftByAKilledServerDoesNotBlockTheStart(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, clientSocket), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := connect(t, start(t, dir)).Put(t.Context(), "/k", "v"); err != nil {
		t.Fatal(err)
	}
}

func TestEtcd_RequiresADirectory(t *testing.T) {
	if _, err := Start(t.Context(), Options{}); err == nil {
		t.Fatal("Start without a directory succeeded")
	}
}

// A limit of the file size simulates a full disk.
func TestStart_WithoutDiskSpaceReturnsAnError(t *testing.T) {
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	limit := before
	limit.Cur = 1 << 20
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	_, err := Start(t.Context(), Options{Dir: dir, UnsafeNoFsync: true})
	if restored := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before); restored != nil {
		t.Fatal(restored)
	}
	if err == nil || !strings.Contains(err.Error(), "starting embedded etcd in "+dir) {
		t.Errorf("Start = %v, want an error that names the directory", err)
	}
}

func TestLog_HasWarningsOfEtcd(t *testing.T) {
	lines := make(chan string, 100)
	ctx := klog.NewContext(t.Context(), funcr.New(func(_, args string) {
		select {
		case lines <- args:
		default:
		}
	}, funcr.Options{}))
	var p phase
	logger := newLogger(klog.FromContext(ctx), &p).With(zap.String("member", "m"))
	logger.Warn("is logged about our settings during the start")
	p.serving.Store(true)
	logger.Info("is left out")
	for range 10 {
		logger.Warn("slow fdatasync", zap.Duration("took", time.Second))
	}
	logger.Error("no space", zap.String("alarm", "NOSPACE"))
	p.closing.Store(true)
	logger.Warn("is logged during the stop")
	close(lines)
	var got []string
	for line := range lines {
		got = append(got, line)
	}
	slow := `"level"=0 "msg"="Warning of etcd: slow fdatasync" "member"="m" "took"="1s"`
	want := []string{slow, slow, slow, `"msg"="Error of etcd: no space" "error"=null "member"="m" "alarm"="NOSPACE"`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

func TestMetrics_OfTheMemberAreCollected(t *testing.T) {
	s := start(t, t.TempDir())
	if _, err := connect(t, s).Put(t.Context(), "/k", "v"); err != nil {
		t.Fatal(err)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(Metrics())
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]string{}
	for _, f := range families {
		kinds[f.GetName()] = f.GetType().String()
		if !strings.HasPrefix(f.GetName(), "etcd_") {
			t.Errorf("%s is not a metric of etcd", f.GetName())
		}
	}
	for name, kind := range map[string]string{
		"etcd_mvcc_db_total_size_in_use_in_bytes":   "GAUGE",
		"etcd_server_quota_backend_bytes":           "GAUGE",
		"etcd_mvcc_db_total_size_in_bytes":          "GAUGE",
		"etcd_disk_wal_fsync_duration_seconds":      "HISTOGRAM",
		"etcd_server_proposals_committed_total":     "GAUGE",
		"etcd_server_slow_apply_total":              "COUNTER",
		"etcd_disk_backend_commit_duration_seconds": "HISTOGRAM",
	} {
		if kinds[name] != kind {
			t.Errorf("%s is a %q, want a %s", name, kinds[name], kind)
		}
	}
}
