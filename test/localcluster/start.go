// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"github.com/slipway-dev/slipway/pkg/store/embedded"
	"github.com/slipway-dev/slipway/test/localcluster/ports"
	"github.com/slipway-dev/slipway/test/localcluster/process"
)

// Start starts all components and returns when they are ready. The context limits the start only. Stop ends the
// cluster. On error no process is left running.
func Start(ctx context.Context, options Options) (*Cluster, error) {
	options, err := options.complete()
	if err != nil {
		return nil, err
	}
	dir := dataDir(options.DataDir)
	release, err := dir.acquire()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, options.StartTimeout,
		fmt.Errorf("the environment was not ready within %s", options.StartTimeout))
	defer cancel()
	c := &Cluster{
		AdminKubeconfig: AdminKubeconfig(options.DataDir),
		options:         options, dir: dir, release: release,
		progress: &progress{report: options.Progress},
		failed:   make(chan error, len(stopOrder)),
		parts:    map[string]*process.Process{},
		vcenters: map[int]VCenter{},
	}
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context) error {
	if err := c.progress.step("certificates, kubeconfigs and ports", c.prepare); err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	hostReady := make(chan struct{})
	g.Go(func() error {
		if err := c.startHost(ctx); err != nil {
			return err
		}
		close(hostReady)
		return c.startKubeControllerManager(ctx)
	})
	if !c.options.HostOnly {
		g.Go(func() error {
			if err := c.startVCenters(ctx); err != nil || c.options.NotInstalled {
				return err
			}
			select {
			case <-hostReady:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			if err := c.startSlipway(ctx); err != nil {
				return err
			}
			return c.applyZones(ctx)
		})
	}
	return g.Wait()
}

// prepare creates ports, certificates and kubeconfigs.
func (c *Cluster) prepare() error {
	var err error
	if c.ports, err = ports.Load(c.dir.ports(), c.options.Ports, startOrder...); err != nil {
		return err
	}
	c.identities, err = newIdentities(c.dir, c.ports.Address(PortKubeAPIServer), c.ports.Address(PortSlipwayAPIServer))
	if err != nil {
		return err
	}
	c.components = components{options: c.options, dir: c.dir, pki: c.identities.store, ports: c.ports}
	if c.admin, err = c.identities.user("slipway-admin", "system:masters"); err != nil {
		return err
	}
	manager, managerErr := c.identities.user("system:kube-controller-manager")
	slipway, slipwayErr := c.identities.user(slipwayUser, "system:serviceaccounts", "system:serviceaccounts:"+namespace)
	if err := errors.Join(managerErr, slipwayErr); err != nil {
		return err
	}
	return errors.Join(
		writeKubeconfig(c.AdminKubeconfig, c.admin),
		writeKubeconfig(c.dir.kubeconfig("kube-controller-manager"), manager),
		writeKubeconfig(c.dir.kubeconfig("slipway-apiserver"), slipway),
	)
}

// startHost starts the management cluster and registers Slipway with it.
func (c *Cluster) startHost(ctx context.Context) error {
	err := c.progress.step("etcd", func() error {
		if c.options.HostEtcd != "" {
			return nil
		}
		log, err := c.etcdLog()
		if err != nil {
			return err
		}
		logged := klog.NewContext(ctx, textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(log))))
		server, err := embedded.Start(logged, embedded.Options{Dir: c.dir.hostEtcd(), UnsafeNoFsync: c.options.UnsafeNoFsync})
		if err != nil {
			return errors.Join(fmt.Errorf("starting the etcd of kube-apiserver: %w", err), log.Close())
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.etcd, c.etcdLogFile = server, log
		return nil
	})
	if err != nil {
		return err
	}
	if err := c.startKubeAPIServer(ctx); err != nil || c.options.HostOnly || c.options.NotInstalled {
		return err
	}
	return c.progress.step("rights and API registration", func() error {
		ca := c.identities.serving.CertPEM()
		if c.options.ManagedCertificate {
			ca = nil // the server returns it
		}
		objects, err := deployment(ca, c.ports[PortSlipwayAPIServer])
		if err != nil {
			return err
		}
		return apply(ctx, c.admin, objects)
	})
}

// etcdLog opens the log file of the etcd in this process, next to the logs of the programs, so that it does not write
// to the terminal.
func (c *Cluster) etcdLog() (*os.File, error) {
	file := c.dir.log("host-etcd")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, fmt.Errorf("making the log directory of etcd: %w", err)
	}
	log, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the log of etcd: %w", err)
	}
	return log, nil
}

func (c *Cluster) startKubeAPIServer(ctx context.Context) error {
	return c.progress.step("kube-apiserver", func() error {
		endpoint := c.options.HostEtcd
		if endpoint == "" {
			endpoint = c.etcd.Endpoint()
		}
		p, err := c.launch(c.components.kubeAPIServer(endpoint))
		if err != nil {
			return err
		}
		return p.WaitFor(ctx, healthy(c.admin, "/readyz"))
	})
}

func (c *Cluster) startKubeControllerManager(ctx context.Context) error {
	return c.progress.step("kube-controller-manager", func() error {
		p, err := c.launch(c.components.kubeControllerManager())
		if err != nil {
			return err
		}
		config := rest.CopyConfig(c.admin)
		config.Host = "https://" + c.ports.Address(PortKubeControllerManager)
		return p.WaitFor(ctx, healthy(config, "/healthz"))
	})
}

// startVCenters starts all vCenters, one after the other.
func (c *Cluster) startVCenters(ctx context.Context) error {
	for n := 1; n <= c.options.VCenters; n++ {
		if err := c.startVCenter(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) startVCenter(ctx context.Context, n int) error {
	step := "simulated vCenter"
	if n > 1 {
		step = fmt.Sprintf("%s %d", step, n)
	}
	return c.progress.step(step, func() error {
		dir := c.dir.vcenter(n)
		password, err := vcenterPassword(c.dir)
		if err != nil {
			return err
		}
		// The file of a previous run would be read.
		if err := os.Remove(dir.ready); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("removing the ready file of the last run: %w", err)
		}
		p, err := c.launch(c.components.vcenter(n))
		if err != nil {
			return err
		}
		return p.WaitFor(ctx, func(context.Context) error {
			v, err := readVCenter(dir.ready)
			if err != nil {
				return err
			}
			v.Username, v.Password = VCenterUser, password
			if v.CAFile == "" {
				v.CAFile = c.identities.store.CertFile(fileVCenterCA)
			}
			if n == 1 {
				c.vcenter = v
			}
			c.vcenters[n] = v
			return nil
		})
	})
}

func (c *Cluster) startSlipway(ctx context.Context) error {
	var p *process.Process
	err := c.progress.step("slipway-apiserver", func() (err error) {
		if p, err = c.launch(c.components.slipway(c.vcenter)); err != nil {
			return err
		}
		return p.WaitFor(ctx, func(ctx context.Context) error {
			config, err := c.DirectConfig("slipway-admin", "system:masters")
			if err != nil {
				return err
			}
			return healthy(config, "/readyz")(ctx)
		})
	})
	if err != nil {
		return err
	}
	return c.waitAvailable(ctx, p)
}

// waitAvailable returns when kube-apiserver serves the API of Slipway, or with an error if p ends first.
func (c *Cluster) waitAvailable(ctx context.Context, p *process.Process) error {
	return c.progress.step("APIs available", func() error {
		objects, err := deployment(nil, 0)
		if err != nil {
			return err
		}
		return p.WaitFor(ctx, func(ctx context.Context) error {
			return available(ctx, c.admin, apiServices(objects))
		})
	})
}

var apiServiceResource = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}

// available checks the condition Available of all named APIServices, and that their versions are served, because after
// a restart the condition may be outdated.
func available(ctx context.Context, config *rest.Config, names []string) error {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	for _, name := range names {
		u, err := client.Resource(apiServiceResource).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("reading APIService %s: %w", name, err)
		}
		if reason := unavailable(u); reason != "" {
			return fmt.Errorf("APIService %s: %s", name, reason)
		}
		version, group, _ := strings.Cut(name, ".")
		if err := healthy(config, "/apis/"+group+"/"+version)(ctx); err != nil {
			return fmt.Errorf("APIService %s: %w", name, err)
		}
	}
	return nil
}

// progress reports steps one at a time.
type progress struct {
	mu     sync.Mutex
	report func(step string, took time.Duration)
}

func (p *progress) step(name string, f func() error) error {
	begin := time.Now()
	if err := f(); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.report(name, time.Since(begin))
	return nil
}
