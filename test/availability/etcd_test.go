// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package availability

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/slipway-dev/slipway/test/localcluster/ports"
	"github.com/slipway-dev/slipway/test/localcluster/process"
)

// etcdMember is one process of an etcd cluster.
type etcdMember struct {
	// client is the address for clients.
	client, dir string
	spec        process.Spec
	process     *process.Process
}

// etcd is an etcd cluster whose members are processes on this machine.
type etcd struct {
	*testing.T
	dir     string
	members []*etcdMember
	// initial is the flag --initial-cluster of all members.
	initial string
	api     *clientv3.Client
}

// prepareEtcd prepares a cluster that does not run yet.
func prepareEtcd(t *testing.T, members int, args ...string) *etcd {
	t.Helper()
	e := &etcd{T: t, dir: t.TempDir()}
	bin, err := filepath.Abs("../../bin")
	if err != nil {
		t.Fatal(err)
	}
	var names, all, initial, endpoints []string
	for i := range members {
		name := fmt.Sprintf("etcd-%d", i)
		names, all = append(names, name), append(all, name, name+"-peer")
	}
	chosen, err := ports.Load(filepath.Join(e.dir, "ports"), nil, all...)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		initial = append(initial, fmt.Sprintf("%s=http://%s", name, chosen.Address(name+"-peer")))
		endpoints = append(endpoints, "http://"+chosen.Address(name))
	}
	e.initial = strings.Join(initial, ",")
	for i, name := range names {
		_, peer, _ := strings.Cut(initial[i], "=")
		m := &etcdMember{client: chosen.Address(name), dir: filepath.Join(e.dir, name)}
		m.spec = process.Spec{
			Name: name, Path: filepath.Join(bin, "etcd"), LogFile: filepath.Join(e.dir, name+".log"), StopTimeout: time.Minute,
			Args: append([]string{
				"--name=" + name, "--data-dir=" + m.dir, "--initial-cluster=" + e.initial,
				"--listen-client-urls=" + endpoints[i], "--advertise-client-urls=" + endpoints[i],
				"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer,
				// On a busy machine the default timeouts would cause frequent leader elections.
				"--heartbeat-interval=200", "--election-timeout=2000", "--unsafe-no-fsync",
			}, args...),
		}
		e.members = append(e.members, m)
	}
	e.api, err = clientv3.New(clientv3.Config{Endpoints: endpoints, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = e.api.Close()
		for _, m := range e.members {
			if m.process != nil {
				_ = m.process.Kill()
			}
			if t.Failed() {
				data, _ := os.ReadFile(m.spec.LogFile)
				t.Logf("the end of the log of %s:\n%s", m.spec.Name, data[max(0, len(data)-2000):])
			}
		}
	})
	return e
}

// newEtcd starts a cluster of members that get args in addition.
func newEtcd(t *testing.T, members int, args ...string) *etcd {
	t.Helper()
	e := prepareEtcd(t, members, args...)
	e.start(e.all()...)
	return e
}

// newEtcdOf starts a cluster with the data of a snapshot.
func newEtcdOf(t *testing.T, file string, members int) *etcd {
	t.Helper()
	e := prepareEtcd(t, members)
	e.restore(file, bumped...)
	e.start(e.all()...)
	return e
}

// endpoints returns the value of --etcd-servers for the whole cluster.
func (e *etcd) endpoints() string { return "http://" + strings.Join(e.addresses(), ",http://") }

// all returns the indices of the members.
func (e *etcd) all() (all []int) {
	for i := range e.members {
		all = append(all, i)
	}
	return all
}

// addresses returns the client addresses of members.
func (e *etcd) addresses() (all []string) {
	for _, m := range e.members {
		all = append(all, m.client)
	}
	return all
}

// start starts members and waits until they answer.
func (e *etcd) start(which ...int) {
	e.Helper()
	for _, i := range which {
		started, err := process.Start(e.members[i].spec)
		if err != nil {
			e.Fatal(err)
		}
		e.members[i].process = started
	}
	for _, i := range which {
		e.await(e.members[i].spec.Name+" has a leader", func(ctx context.Context) error {
			status, err := e.api.Status(ctx, "http://"+e.members[i].client)
			if err == nil && status.Leader == 0 {
				err = errors.New("it has no leader")
			}
			return err
		})
	}
}

func (e *etcd) kill(i int) {
	e.Helper()
	if err := e.members[i].process.Kill(); err != nil {
		e.Fatal(err)
	}
}

func (e *etcd) stop(which ...int) {
	e.Helper()
	for _, i := range which {
		if err := e.members[i].process.Stop(); err != nil {
			e.Fatal(err)
		}
	}
}

// leader returns the index of the leading member.
func (e *etcd) leader() (leader int) {
	e.Helper()
	e.await("a member leads", func(ctx context.Context) error {
		leader = slices.IndexFunc(e.members, func(m *etcdMember) bool {
			status, err := e.api.Status(ctx, "http://"+m.client)
			return err == nil && status.Leader == status.Header.MemberId
		})
		if leader < 0 {
			return errors.New("none does")
		}
		return nil
	})
	return leader
}

// await waits until check returns nil.
func (e *etcd) await(what string, check func(context.Context) error) {
	e.Helper()
	var last error
	for began := time.Now(); time.Since(began) < deadline; <-time.After(50 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(e.Context(), time.Second)
		last = check(ctx)
		cancel()
		if last == nil {
			return
		}
	}
	e.Fatalf("%s: not within %s; last error: %v", what, deadline, last)
}
