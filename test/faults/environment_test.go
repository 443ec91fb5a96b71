// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	"github.com/slipway-dev/slipway/pkg/store/maintenance"
	"github.com/slipway-dev/slipway/test/fleetcheck"
	"github.com/slipway-dev/slipway/test/localcluster"
	"github.com/slipway-dev/slipway/test/vsphereclient"
)

// deadline is many times the duration on an idle machine.
const deadline = 2 * time.Minute

// Names of the programs of the environment.
const (
	slipway       = "slipway-apiserver"
	kubeAPIServer = "kube-apiserver"
)

// environment is shared by the cells of one fault.
type environment struct {
	*localcluster.Cluster
	dir, bin string
	check    *fleetcheck.Checker
	api      versioned.Interface
	host     kubernetes.Interface
	admin    rest.Interface // a direct connection to the server, for paths outside of its API groups
	// namespaces are the namespaces of all cells so far.
	namespaces []string
	// damaged is how often the store was damaged.
	damaged int
}

// newDirectory creates the data directory of an environment. It is removed at the end unless the test fails.
func newDirectory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "slipway-faults-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the logs are kept in %s", localcluster.LogDir(dir))
			return
		}
		_ = os.RemoveAll(dir)
	})
	return dir
}

func newEnvironment(t *testing.T, dir string) *environment {
	t.Helper()
	bin, err := filepath.Abs("../../bin")
	if err != nil {
		t.Fatal(err)
	}
	e := &environment{dir: dir, bin: bin}
	e.Cluster, err = localcluster.Start(t.Context(), localcluster.Options{
		DataDir: dir, BinDir: e.bin, UnsafeNoFsync: true, GuestBootDelay: 100 * time.Millisecond,
		SlipwayArgs: []string{"--v=2", fmt.Sprintf("--etcd-quota-backend-bytes=%d", maintenance.MinQuota)},
		VCenterArgs: []string{"--control-listen=127.0.0.1:0"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Stop(); err != nil {
			t.Error(err)
		}
	})
	if err := e.connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	return e
}

func (e *environment) connect(ctx context.Context) (err error) {
	if e.api, err = versioned.NewForConfig(e.RestConfig()); err != nil {
		return err
	}
	if e.host, err = kubernetes.NewForConfig(e.RestConfig()); err != nil {
		return err
	}
	direct, err := e.DirectConfig("slipway-admin", "system:masters")
	if err != nil {
		return err
	}
	admin, err := kubernetes.NewForConfig(direct)
	if err != nil {
		return err
	}
	e.admin = admin.RESTClient()
	if err := e.order(ctx, http.MethodPut, "/trace?calls=50000", nil); err != nil {
		return err
	}
	e.check, err = fleetcheck.New(ctx, e.Cluster)
	return err
}

// order sends a control request to the simulated vCenter and decodes its response.
func (e *environment) order(ctx context.Context, method, path string, into any) error {
	body, err := vsphereclient.Order(ctx, e.VCenter().ControlURL, method, path)
	if err != nil || into == nil {
		return err
	}
	return json.Unmarshal(body, into)
}

// log returns the log of slipway-apiserver.
func (e *environment) log() string {
	data, err := os.ReadFile(filepath.Join(localcluster.LogDir(e.dir), slipway+".log"))
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// until waits for a check to succeed.
func until(ctx context.Context, what string, check func(ctx context.Context) error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, deadline, true, func(ctx context.Context) (bool, error) {
		last = check(ctx)
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("%s: not within %s: %w", what, deadline, errors.Join(ctx.Err(), last))
	}
	return nil
}

// settled waits until all objects are in their desired state and there are no others.
func (e *environment) settled(ctx context.Context, want map[string]fleetcheck.Wish) error {
	return until(ctx, "all objects are in their desired state", func(ctx context.Context) error {
		seen, err := e.check.Look(ctx)
		if err != nil {
			return err
		}
		if found := e.check.Problems(want, e.namespaces, seen); len(found) > 0 {
			return errors.New(strings.Join(found, "\n"))
		}
		return nil
	})
}

// unready returns nil if a readiness check of slipway-apiserver fails.
func (e *environment) unready(ctx context.Context, check string) error {
	err := e.admin.Get().RequestURI("/readyz/" + check).Do(ctx).Error()
	if apierrors.IsInternalError(err) || apierrors.IsServiceUnavailable(err) {
		return nil
	}
	return fmt.Errorf("/readyz/%s does not fail: %w", check, cmp.Or(err, errors.New("200 OK")))
}

// renewed returns when the Lease of the controllers was last renewed.
func (e *environment) renewed(ctx context.Context) (time.Time, error) {
	lease, err := e.host.CoordinationV1().Leases("slipway-system").Get(ctx, "slipway-controllers", metav1.GetOptions{})
	if err != nil {
		return time.Time{}, err
	}
	if lease.Spec.RenewTime == nil {
		return time.Time{}, nil
	}
	return lease.Spec.RenewTime.Time, nil
}

// delete deletes a virtual machine if it exists.
func (c *cell) delete(ctx context.Context, name string) error {
	return until(ctx, "the deletion of "+name+" is accepted", func(ctx context.Context) error {
		err := c.api.VmV1alpha1().VirtualMachines(c.namespace).Delete(ctx, name, metav1.DeleteOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	})
}
