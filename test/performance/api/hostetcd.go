// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/slipway-dev/slipway/pkg/store/embedded"
	"github.com/slipway-dev/slipway/test/localcluster/process"
)

// endpointFile contains the address of the etcd that serves its directory.
const endpointFile = "endpoint"

// serveEtcd serves an etcd from a directory until ctx is done.
func serveEtcd(ctx context.Context, dir string) error {
	server, err := embedded.Start(ctx, embedded.Options{Dir: filepath.Join(dir, "data"), UnsafeNoFsync: true})
	if err != nil {
		return err
	}
	defer server.Close()
	file := filepath.Join(dir, endpointFile)
	if err := os.WriteFile(file+".new", []byte(server.Endpoint()), 0o600); err != nil {
		return err
	}
	if err := os.Rename(file+".new", file); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// startEtcd runs the etcd of kube-apiserver in a separate process of this program. Its cost for a custom resource can
// then be measured and compared with that of the etcd in slipway-apiserver.
func startEtcd(ctx context.Context, dir string) (p *process.Process, endpoint string, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, "", fmt.Errorf("looking for the program itself: %w", err)
	}
	p, err = process.Start(process.Spec{Name: "etcd", Path: self, Args: []string{"-etcd", dir}, LogFile: filepath.Join(dir, "log")})
	if err != nil {
		return nil, "", err
	}
	err = p.WaitFor(ctx, func(context.Context) error {
		text, err := os.ReadFile(filepath.Join(dir, endpointFile))
		endpoint = string(text)
		return err
	})
	return p, endpoint, err
}
