// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/slipway-dev/slipway/artifacts"
	"github.com/slipway-dev/slipway/pkg/store/embedded"
	"github.com/slipway-dev/slipway/test/localcluster/ports"
	"github.com/slipway-dev/slipway/test/localcluster/process"
)

// Cluster is a running environment. Its methods may be called concurrently.
type Cluster struct {
	// AdminKubeconfig is the path of the kubeconfig of a user in system:masters.
	AdminKubeconfig string

	options    Options
	dir        dataDir
	release    func()
	ports      ports.Set
	identities *identities
	components components
	admin      *rest.Config
	vcenter    VCenter
	// vcenters are the simulated vCenters, by their numbers from 1.
	vcenters map[int]VCenter
	progress *progress
	failed   chan error

	mu   sync.Mutex
	etcd *embedded.Server
	// etcdLogFile is the log file of etcd, open while etcd runs.
	etcdLogFile *os.File
	parts       map[string]*process.Process
	// stopped is true after Stop was called.
	stopped bool
}

// Names of the parts that run as processes, and of their logs.
const (
	partKubeAPIServer         = "kube-apiserver"
	partKubeControllerManager = "kube-controller-manager"
	partVCenter               = "vcenter"
	partSlipway               = "slipway-apiserver"
)

// stopOrder stops each component before the components that it depends on. etcd is last: without it kube-apiserver
// takes minutes to end.
var stopOrder = []string{
	partKubeControllerManager, partSlipway, partVCenter, partOf(2), partOf(3), partOf(4), partKubeAPIServer,
}

// partOf returns the name of the simulated vCenter with a number, from 1.
func partOf(n int) string {
	if n == 1 {
		return partVCenter
	}
	return fmt.Sprintf("%s-%d", partVCenter, n)
}

// RestConfig returns the client configuration of a user in system:masters, without client-side throttling.
func (c *Cluster) RestConfig() *rest.Config { return rest.CopyConfig(c.admin) }

// UserConfig returns the client configuration of an ordinary user. Name and groups are in its client certificate. It
// has only the permissions that RBAC grants.
func (c *Cluster) UserConfig(name string, groups ...string) (*rest.Config, error) {
	return c.identities.user(name, groups...)
}

// UserKubeconfig writes the kubeconfig of an ordinary user into the data directory
// and returns its path.
func (c *Cluster) UserKubeconfig(name string, groups ...string) (string, error) {
	config, err := c.UserConfig(name, groups...)
	if err != nil {
		return "", err
	}
	path := c.dir.kubeconfig("user-" + filepath.Base(name))
	return path, writeKubeconfig(path, config)
}

// DirectConfig returns a configuration for requests to slipway-apiserver itself, without the aggregation layer. An
// empty name gives a configuration without credentials.
func (c *Cluster) DirectConfig(name string, groups ...string) (*rest.Config, error) {
	ca, err := c.servingCA()
	if err != nil {
		return nil, err
	}
	if name == "" {
		return &rest.Config{Host: c.identities.direct, QPS: -1, TLSClientConfig: rest.TLSClientConfig{CAData: ca}}, nil
	}
	return c.identities.config(c.identities.direct, ca, name, groups...)
}

// servingCA returns the CA bundle that currently verifies slipway-apiserver.
func (c *Cluster) servingCA() ([]byte, error) {
	if !c.options.ManagedCertificate {
		return c.identities.serving.CertPEM(), nil
	}
	host, err := kubernetes.NewForConfig(c.admin)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	secret, err := host.CoreV1().Secrets(namespace).Get(context.Background(), servingSecret, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("reading the CA bundle of slipway-apiserver: %w", err)
	}
	return secret.Data["ca.crt"], nil
}

// VCenter returns the connection data of the simulated vCenter. It is empty with HostOnly.
func (c *Cluster) VCenter() VCenter { return c.vcenter }

// PID returns the process ID of a program by its name, vcenter for the simulated vCenter, or 0 if it does not run.
func (c *Cluster) PID(part string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.parts[part]; p != nil && p.Running() {
		return p.PID()
	}
	return 0
}

// VCenterOf returns the connection data of the simulated vCenter with a number, starting at 1.
func (c *Cluster) VCenterOf(n int) VCenter { return c.vcenters[n] }

// ServerKubeconfig returns the path of the kubeconfig of slipway-apiserver, a user with the name of its service
// account.
func (c *Cluster) ServerKubeconfig() string { return c.dir.kubeconfig(partSlipway) }

// Failed delivers an error for every program that ends unexpectedly.
func (c *Cluster) Failed() <-chan error { return c.failed }

// KillSlipway kills slipway-apiserver with SIGKILL and waits until the process has ended.
func (c *Cluster) KillSlipway() error {
	if p := c.part(partSlipway); p != nil {
		return p.Kill()
	}
	return nil
}

// SlipwayDataDir is the data directory of slipway-apiserver.
func (c *Cluster) SlipwayDataDir() string { return c.dir.slipwayData() }

// RestartSlipway stops slipway-apiserver if it runs, starts it on its data, and
// returns when it is ready and its API is served through kube-apiserver.
func (c *Cluster) RestartSlipway(ctx context.Context) error {
	if p := c.part(partSlipway); p != nil {
		if err := p.Stop(); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.options.StartTimeout,
		fmt.Errorf("slipway-apiserver was not ready again within %s", c.options.StartTimeout))
	defer cancel()
	return c.startSlipway(ctx)
}

// RestartHost stops kube-apiserver, starts it again, and returns when it is ready and
// serves the API of Slipway.
func (c *Cluster) RestartHost(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, c.options.StartTimeout,
		fmt.Errorf("kube-apiserver was not ready again within %s", c.options.StartTimeout))
	defer cancel()
	if p := c.part(partKubeAPIServer); p != nil {
		// Stop is not used, because watches of clients can delay the end of kube-apiserver for longer than its timeout.
		if err := p.Kill(); err != nil {
			return err
		}
	}
	if err := c.startKubeAPIServer(ctx); err != nil || c.options.HostOnly {
		return err
	}
	return c.waitAvailable(ctx, c.part(partKubeAPIServer))
}

// RestartControllerManager kills kube-controller-manager, starts it again, and returns when
// it is healthy.
func (c *Cluster) RestartControllerManager(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, c.options.StartTimeout,
		fmt.Errorf("kube-controller-manager was not healthy again within %s", c.options.StartTimeout))
	defer cancel()
	if p := c.part(partKubeControllerManager); p != nil {
		if err := p.Kill(); err != nil {
			return err
		}
	}
	return c.startKubeControllerManager(ctx)
}

// Apply creates or updates the objects of a YAML stream by server-side apply. It retries errors that may be temporary,
// for example a missing namespace, until ctx is done.
func (c *Cluster) Apply(ctx context.Context, manifests []byte) error {
	objects, err := artifacts.Decode(manifests)
	if err != nil {
		return err
	}
	return apply(ctx, c.admin, objects)
}

// Stop ends everything and releases the data directory. Calling it again does
// nothing.
func (c *Cluster) Stop() error {
	c.mu.Lock()
	if c.stopped {
		c.mu.Unlock()
		return nil
	}
	c.stopped = true
	parts, etcd, log := maps.Clone(c.parts), c.etcd, c.etcdLogFile
	c.mu.Unlock()

	var errs []error
	for _, name := range stopOrder {
		if p := parts[name]; p != nil {
			errs = append(errs, p.Stop())
		}
	}
	if etcd != nil {
		etcd.Close()
		errs = append(errs, log.Close())
	}
	c.release()
	return errors.Join(errs...)
}

func (c *Cluster) part(name string) *process.Process {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.parts[name]
}

// launch starts a program and watches it, unless the cluster is being stopped.
func (c *Cluster) launch(spec process.Spec) (*process.Process, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return nil, fmt.Errorf("starting %s: the environment is being stopped", spec.Name)
	}
	p, err := process.Start(spec)
	if err != nil {
		return nil, err
	}
	c.parts[spec.Name] = p
	go func() {
		<-p.Done()
		if err := p.Failure(); err != nil {
			select {
			case c.failed <- err:
			default: // no receiver, and the buffer is full
			}
		}
	}()
	return p, nil
}

// Kubectl returns the path of the environment's kubectl.
func Kubectl(binDir string) string { return filepath.Join(binDir, programKubectl) }
