// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"

	"github.com/slipway-dev/slipway/test/localcluster"
	"github.com/slipway-dev/slipway/test/localcluster/pki"
	"github.com/slipway-dev/slipway/test/localcluster/ports"
	"github.com/slipway-dev/slipway/test/localcluster/process"
)

// Files that hack/build-cluster-api.sh creates.
const (
	program   = "cluster-api-manager"
	manifests = "cluster-api-components.yaml"
)

const (
	namespace = "capi-system"
	user      = "system:serviceaccount:" + namespace + ":capi-manager"
)

var groups = []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace}

// Names of the ports.
const (
	portWebhook     = "webhook"
	portHealth      = "health"
	portDiagnostics = "diagnostics"
)

// startTimeout is many times the few seconds that a start takes.
const startTimeout = 3 * time.Minute

// pollInterval is the pause between two attempts.
const pollInterval = 50 * time.Millisecond

// probeTimeout limits one readiness request.
const probeTimeout = 5 * time.Second

// Manager is a running manager.
type Manager struct {
	process *process.Process
	ports   ports.Set
}

// Start installs Cluster API in cluster and runs its manager, with the programs of binDir
// and its files in dir.
func Start(ctx context.Context, cluster *localcluster.Cluster, binDir, dir string) (*Manager, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("the manager of Cluster API was not ready within %s", startTimeout))
	defer cancel()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the directory of Cluster API: %w", err)
	}
	set, err := ports.Load(filepath.Join(dir, "ports.json"), nil, portWebhook, portHealth, portDiagnostics)
	if err != nil {
		return nil, err
	}
	certificates, ca, err := serving(dir)
	if err != nil {
		return nil, err
	}
	objects, err := install(ctx, cluster, filepath.Join(binDir, manifests), "https://"+set.Address(portWebhook), ca)
	if err != nil {
		return nil, err
	}
	if err := usable(ctx, cluster, objects); err != nil {
		return nil, err
	}
	kubeconfig, err := cluster.UserKubeconfig(user, groups...)
	if err != nil {
		return nil, err
	}
	p, err := process.Start(process.Spec{
		Name: program, Path: filepath.Join(binDir, program), LogFile: filepath.Join(dir, program+".log"),
		Args: []string{
			"--kubeconfig=" + kubeconfig, "--leader-elect=false",
			"--webhook-port=" + strconv.Itoa(set[portWebhook]), "--webhook-cert-dir=" + filepath.Dir(certificates.CertFile(program)),
			"--webhook-cert-name=" + filepath.Base(certificates.CertFile(program)), "--webhook-key-name=" + filepath.Base(certificates.KeyFile(program)),
			"--health-addr=" + set.Address(portHealth),
			"--diagnostics-address=" + set.Address(portDiagnostics), "--insecure-diagnostics",
		},
	})
	if err != nil {
		return nil, err
	}
	m := &Manager{process: p, ports: set}
	if err := p.WaitFor(ctx, m.ready); err != nil {
		return nil, errors.Join(err, m.Stop())
	}
	return m, nil
}

// Stop ends the manager. Calling it again does nothing.
func (m *Manager) Stop() error { return m.process.Stop() }

// PID is the ID of its process.
func (m *Manager) PID() int { return m.process.PID() }

// MetricsURL returns the URL of its metrics, which need no authentication.
func (m *Manager) MetricsURL() string {
	return "http://" + m.ports.Address(portDiagnostics) + "/metrics"
}

// LogFile is the log file of a manager that was started with this dir.
func LogFile(dir string) string { return filepath.Join(dir, program+".log") }

// ready checks whether the manager's webhooks are served.
func (m *Manager) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+m.ports.Address(portHealth)+"/readyz", nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("/readyz answers %s", resp.Status)
	}
	return nil
}

// serving creates the certificate of the webhooks, and returns its issuer.
func serving(dir string) (*pki.Store, []byte, error) {
	store, err := pki.NewStore(filepath.Join(dir, "pki"))
	if err != nil {
		return nil, nil, err
	}
	now := time.Now()
	authority, err := store.Authority(now, "ca")
	if err != nil {
		return nil, nil, err
	}
	pair, err := authority.Server(now, "127.0.0.1")
	if err != nil {
		return nil, nil, err
	}
	return store, authority.CertPEM(), store.Write(program, pair)
}

// install applies the manifests of Cluster API in a cluster, and returns them.
func install(ctx context.Context, cluster *localcluster.Cluster, file, url string, ca []byte) ([]*unstructured.Unstructured, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s is missing: run \"make tools-cluster-api\"", file)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the manifests of Cluster API: %w", err)
	}
	objects, err := decode(data)
	if err != nil {
		return nil, err
	}
	if objects, err = adapt(objects, url, ca); err != nil {
		return nil, err
	}
	stream, err := encode(objects)
	if err != nil {
		return nil, err
	}
	return objects, cluster.Apply(ctx, stream)
}

// usable returns when the manager can list all its kinds: their definitions are established, and its aggregated
// ClusterRole has the permissions.
func usable(ctx context.Context, cluster *localcluster.Cluster, objects []*unstructured.Unstructured) error {
	config, err := cluster.UserConfig(user, groups...)
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	for _, resource := range resources(objects) {
		var last error
		err := wait.PollUntilContextCancel(ctx, pollInterval, true, func(ctx context.Context) (bool, error) {
			_, last = client.Resource(resource).List(ctx, metav1.ListOptions{Limit: 1})
			return last == nil, nil
		})
		if err != nil {
			return fmt.Errorf("listing %s as %s: %w: %w", resource.GroupResource(), user, context.Cause(ctx), last)
		}
	}
	return nil
}
