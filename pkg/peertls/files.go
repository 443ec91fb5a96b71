// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package peertls

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"github.com/slipway-dev/slipway/pkg/apiserver/certs/authority"
)

const (
	// renewAfter is when a certificate is made anew, and retryAfter when that is tried again.
	renewAfter = authority.RenewAfter
	retryAfter = time.Hour
)

// Files are those of one member.
type Files struct {
	// Cert has certificate and key, CA the authorities that are trusted.
	Cert, CA string

	dir, name, host string
}

// Write makes the files of a member that others reach at host, in dir.
func (a *Authority) Write(dir, name, host string) (*Files, error) {
	f := &Files{Cert: filepath.Join(dir, "peer.pem"), CA: filepath.Join(dir, "peer-ca.pem"), dir: dir, name: name, host: host}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the directory of the certificates of etcd's member: %w", err)
	}
	if err := f.replace(f.CA, a.Trusted); err != nil {
		return nil, err
	}
	return f, f.renew(a)
}

func (f *Files) renew(a *Authority) error {
	leaf, err := a.leaf(f.name, f.host, time.Now())
	if err != nil {
		return err
	}
	return f.replace(f.Cert, leaf)
}

// replace writes a file that is read meanwhile.
func (f *Files) replace(path string, data []byte) error {
	if err := os.WriteFile(path+".new", data, 0o600); err != nil {
		return fmt.Errorf("writing the certificate of etcd's member: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("replacing the certificate of etcd's member: %w", err)
	}
	return nil
}

// Run makes the certificate anew long before it ends, until ctx is done.
func (f *Files) Run(ctx context.Context, host kubernetes.Interface, namespace string) {
	wait := renewAfter
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		a, err := Load(ctx, host, namespace)
		if err == nil {
			err = f.renew(a)
		}
		if wait = renewAfter; err != nil {
			wait = retryAfter
			klog.FromContext(ctx).Error(err, "Renewing the certificate of this member of the embedded etcd failed and will be repeated", "after", wait)
		}
	}
}
