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

// Attached gives access to the member of a directory. The member runs in another process, or else in this one.
type Attached struct {
	// Running is true when the member runs in another process.
	Running bool
	config  clientv3.Config
	client  *clientv3.Client
	own     *Server
}

// Attach connects to the member that runs on dir, or starts one until Close. It returns an error if the directory has no data.
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

// Endpoint returns the address of the member that runs on dir, in any process.
func Endpoint(dir string) (string, error) {
	endpoint, err := os.ReadFile(filepath.Join(dir, lockFile))
	if err != nil || len(endpoint) == 0 {
		return "", fmt.Errorf("the process that uses %s has not started its etcd yet (%v)", dir, err)
	}
	return strings.TrimSpace(string(endpoint)), nil
}

// existing returns the absolute path of a directory that has data.
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

// Close closes the connection, and stops the member if Attach has started it.
func (a *Attached) Close() {
	if a.client != nil {
		_ = a.client.Close()
	}
	if a.own != nil {
		a.own.Close()
	}
}

// Status is the status of a member.
type Status struct {
	// Size, InUse and Quota are as in Space.
	Size, InUse, Quota int64
	// Revision is the number of the last write.
	Revision int64
	// Alarms has the names of the alarms for which the member accepts no writes.
	Alarms []string
}

// Status returns the status of the member.
func (a *Attached) Status(ctx context.Context) (Status, error) {
	answer, err := a.client.Status(ctx, a.config.Endpoints[0])
	if err != nil {
		return Status{}, fmt.Errorf("reading the status of embedded etcd: %w", err)
	}
	alarms, err := a.client.AlarmList(ctx)
	if err != nil {
		return Status{}, fmt.Errorf("reading the alarms of embedded etcd: %w", err)
	}
	s := Status{Size: answer.DbSize, InUse: answer.DbSizeInUse, Quota: maintenance.QuotaOf(answer.DbSizeQuota), Revision: answer.Header.GetRevision()}
	for _, alarm := range alarms.Alarms {
		s.Alarms = append(s.Alarms, alarm.GetAlarm().String())
	}
	return s, nil
}

// Defragment rewrites the file of the member. Requests wait until it returns.
func (a *Attached) Defragment(ctx context.Context) error {
	if _, err := a.client.Defragment(ctx, a.config.Endpoints[0]); err != nil {
		return fmt.Errorf("defragmenting embedded etcd: %w", err)
	}
	return nil
}

// Fits returns an error if a snapshot in a directory would leave too little space in its file system for the process that runs the
// member.
func (a *Attached) Fits(ctx context.Context, dir string) error {
	if !a.Running {
		return nil
	}
	answer, err := a.client.Status(ctx, a.config.Endpoints[0])
	if err != nil {
		return fmt.Errorf("reading the size of embedded etcd: %w", err)
	}
	return maintenance.Fits(dir, answer.DbSize)
}

// Save writes a snapshot of the member to a file that must not exist. The member serves requests meanwhile. The file is complete or
// does not exist.
func (a *Attached) Save(ctx context.Context, file string) error {
	if _, err := os.Lstat(file); !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("writing a snapshot to %s: the file exists already (%v)", file, err)
	}
	if _, err := snapshot.NewV3(zap.NewNop()).Save(ctx, a.config, file); err != nil {
		return fmt.Errorf("writing a snapshot to %s: %w", file, err)
	}
	return nil
}
