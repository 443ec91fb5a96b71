// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.uber.org/zap"

	"github.com/slipway-dev/slipway/pkg/store/maintenance"
)

const dialTimeout = 10 * time.Second

// Attached is access to the member of a directory, which runs in another process or, if
// none does, in this one.
type Attached struct {
	// Running is true when the member runs in another process.
	Running bool
	config  clientv3.Config
	client  *clientv3.Client
	own     *Server
}

// Attach reaches the member that runs on dir, or starts one until Close. A directory
// without data is an error.
func Attach(ctx context.Context, dir string) (*Attached, error) {
	dir, err := existing(dir)
	if err != nil {
		return nil, err
	}
	a := &Attached{config: clientv3.Config{DialTimeout: dialTimeout, Logger: zap.NewNop()}}
	s, err := Start(ctx, Options{Dir: dir})
	switch {
	case errors.Is(err, errInUse):
		endpoint, err := Endpoint(dir)
		if err != nil {
			return nil, err
		}
		a.Running, a.config.Endpoints = true, []string{endpoint}
	case err != nil:
		return nil, err
	default:
		a.own, a.config.Endpoints = s, []string{s.Endpoint()}
	}
	if a.client, err = clientv3.New(a.config); err != nil {
		a.Close()
		return nil, fmt.Errorf("connecting to the embedded etcd in %s: %w", dir, err)
	}
	return a, nil
}

// Client returns a client of the member, which Close closes.
func (a *Attached) Client() *clientv3.Client { return a.client }

// Endpoint is where the member listens that runs on dir, in whatever process.
func Endpoint(dir string) (string, error) {
	endpoint, err := os.ReadFile(filepath.Join(dir, lockFile))
	if err != nil || len(endpoint) == 0 {
		return "", fmt.Errorf("the process that uses %s has not started its etcd yet (%v)", dir, err)
	}
	return strings.TrimSpace(string(endpoint)), nil
}

// existing is the absolute path of a directory that has data.
func existing(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("resolving the etcd data directory %q: %w", dir, err)
	}
	if _, err := os.Stat(filepath.Join(dir, memberDir)); err != nil {
		return "", fmt.Errorf("%s has no data of an embedded etcd: %w", dir, err)
	}
	return dir, nil
}

// Close ends the access.
func (a *Attached) Close() {
	if a.client != nil {
		_ = a.client.Close()
	}
	if a.own != nil {
		a.own.Close()
	}
}

// Status is what a member says of itself.
type Status struct {
	// Size, InUse and Quota are as in Space.
	Size, InUse, Quota int64
	// Revision is the number of the last write.
	Revision int64
	// Alarms are the names of what keeps it from taking writes.
	Alarms []string
}

// Status asks the member.
func (a *Attached) Status(ctx context.Context) (Status, error) {
	answer, err := a.client.Status(ctx, a.config.Endpoints[0])
	if err != nil {
		return Status{}, fmt.Errorf("asking embedded etcd for its status: %w", err)
	}
	alarms, err := a.client.AlarmList(ctx)
	if err != nil {
		return Status{}, fmt.Errorf("asking embedded etcd for its alarms: %w", err)
	}
	s := Status{Size: answer.DbSize, InUse: answer.DbSizeInUse, Quota: maintenance.QuotaOf(answer.DbSizeQuota), Revision: answer.Header.GetRevision()}
	for _, alarm := range alarms.Alarms {
		s.Alarms = append(s.Alarms, alarm.GetAlarm().String())
	}
	return s, nil
}

// Defragment writes the file of the member anew; its requests wait meanwhile.
func (a *Attached) Defragment(ctx context.Context) error {
	if _, err := a.client.Defragment(ctx, a.config.Endpoints[0]); err != nil {
		return fmt.Errorf("defragmenting embedded etcd: %w", err)
	}
	return nil
}

// Fits returns an error when a snapshot in a directory would leave too little of its file system to
// the process that runs the member.
func (a *Attached) Fits(ctx context.Context, dir string) error {
	if !a.Running {
		return nil
	}
	answer, err := a.client.Status(ctx, a.config.Endpoints[0])
	if err != nil {
		return fmt.Errorf("asking embedded etcd for its size: %w", err)
	}
	return maintenance.Fits(dir, answer.DbSize)
}

// Save writes a snapshot of the member, which serves meanwhile, to a file that must not
// be there yet. The file is whole or is not there.
func (a *Attached) Save(ctx context.Context, file string) error {
	if _, err := os.Lstat(file); !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("writing a snapshot to %s: a file of that name is there already (%v)", file, err)
	}
	if _, err := snapshot.NewV3(zap.NewNop()).Save(ctx, a.config, file); err != nil {
		return fmt.Errorf("writing a snapshot to %s: %w", file, err)
	}
	return nil
}
