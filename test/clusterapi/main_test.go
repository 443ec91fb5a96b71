// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterapi

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/slipway-dev/slipway/test/localcluster"
	"github.com/slipway-dev/slipway/test/localcluster/clusterapi"
	"github.com/slipway-dev/slipway/test/workloadcluster"
)

// markers are the manifests that a user applies for Cluster API.
const markers = "../../artifacts/deploy/cluster-api"

// environment is shared by all tests.
type environment struct {
	workloadcluster.Pair
	manager *clusterapi.Manager
	objects dynamic.Interface
	core    kubernetes.Interface
}

var env environment

func TestMain(m *testing.M) {
	workloadcluster.MainBesideHost(m, &env.Pair, workloadcluster.PairOptions{Zones: true, Ready: env.ready})
}

// ready starts Cluster API.
func (e *environment) ready(ctx context.Context, p *workloadcluster.Pair) (err error) {
	e.objects, err = dynamic.NewForConfig(p.Host.RestConfig())
	if err != nil {
		return err
	}
	if e.core, err = kubernetes.NewForConfig(p.Host.RestConfig()); err != nil {
		return err
	}
	apply := exec.CommandContext(ctx, localcluster.Kubectl(p.BinDir), "--kubeconfig", p.Host.AdminKubeconfig, "apply", "-k", markers)
	if out, err := apply.CombinedOutput(); err != nil {
		return fmt.Errorf("kubectl apply -k %s: %w: %s", markers, err, out)
	}
	if e.manager, err = clusterapi.Start(ctx, p.Host, p.BinDir, filepath.Join(p.Dir, "manager")); err != nil {
		return err
	}
	p.AtEnd(e.manager.Stop)
	return nil
}
