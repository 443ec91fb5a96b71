// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package workloadcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/slipway-dev/slipway/test/localcluster"
	"github.com/slipway-dev/slipway/test/localcluster/process"
)

// Options specifies where a workload cluster runs.
type Options struct {
	// DataDir contains all state and the logs. It is created if it does not exist.
	DataDir string
	// BinDir holds kube-apiserver and kube-controller-manager.
	BinDir string
	// KubeAPIServerArgs are as in localcluster.Options.
	KubeAPIServerArgs []string
}

// controllers are the controllers that affect a drain.
var controllers = []string{
	"disruption-controller", "daemonset-controller", "replicaset-controller", "deployment-controller",
}

// Cluster is a running workload cluster.
type Cluster struct {
	inner      *localcluster.Cluster
	client     kubernetes.Interface
	kubeconfig []byte

	stopKubelet context.CancelFunc
	running     sync.WaitGroup
}

// Start starts a cluster and returns when it is ready. The context limits the start only. Stop ends the cluster.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	inner, err := localcluster.Start(ctx, localcluster.Options{
		DataDir: o.DataDir, BinDir: o.BinDir, HostOnly: true, UnsafeNoFsync: true, Controllers: controllers,
		KubeAPIServerArgs: o.KubeAPIServerArgs,
	})
	if err != nil {
		return nil, fmt.Errorf("starting a workload cluster: %w", err)
	}
	c := &Cluster{inner: inner}
	if err := c.prepare(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("starting a workload cluster: %w", err), inner.Stop())
	}
	background, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c.stopKubelet = cancel
	c.running.Go(func() { newKubelet(c.client).run(background) })
	return c, nil
}

func (c *Cluster) prepare(context.Context) error {
	var err error
	if c.kubeconfig, err = os.ReadFile(c.inner.AdminKubeconfig); err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	if c.client, err = kubernetes.NewForConfig(c.inner.RestConfig()); err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	return nil
}

// Stop ends the cluster, even if it is frozen.
func (c *Cluster) Stop() error {
	thawed := c.Thaw()
	c.stopKubelet()
	c.running.Wait()
	return errors.Join(thawed, c.inner.Stop())
}

// Client returns the client of an administrator of the workload cluster.
func (c *Cluster) Client() kubernetes.Interface { return c.client }

// RestConfig returns the configuration of an administrator of the workload cluster.
func (c *Cluster) RestConfig() *rest.Config { return c.inner.RestConfig() }

// Kubeconfig returns a self-contained kubeconfig of an administrator.
func (c *Cluster) Kubeconfig() []byte { return c.kubeconfig }

// UserKubeconfig returns the kubeconfig of an ordinary user with only the permissions that RBAC of the workload
// cluster grants.
func (c *Cluster) UserKubeconfig(name string, groups ...string) ([]byte, error) {
	path, err := c.inner.UserKubeconfig(name, groups...)
	if err != nil {
		return nil, fmt.Errorf("making a kubeconfig: %w", err)
	}
	return os.ReadFile(path)
}

// Secret returns the kubeconfig Secret for a Cluster of that namespace and name, to be created in the management
// cluster.
func (c *Cluster) Secret(namespace, cluster string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: cluster + "-kubeconfig"},
		Data:       map[string][]byte{"value": c.kubeconfig},
	}
}

// Freeze stops the process of kube-apiserver: connections stay open, and no request is answered.
func (c *Cluster) Freeze() error { return c.tell(process.Freeze) }

// Thaw continues the process.
func (c *Cluster) Thaw() error { return c.tell(process.Thaw) }

func (c *Cluster) tell(f func(pid int) error) error {
	pid := c.inner.PID("kube-apiserver")
	if pid == 0 {
		return nil
	}
	if err := f(pid); err != nil {
		return fmt.Errorf("kube-apiserver of the workload cluster: %w", err)
	}
	return nil
}

// PID returns the process ID of kube-apiserver, or 0 if it does not run.
func (c *Cluster) PID() int { return c.inner.PID("kube-apiserver") }
