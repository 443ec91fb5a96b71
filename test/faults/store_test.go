// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/test/catalogue"
)

// etcdCommand runs slipway-apiserver etcd on the data of the server.
func (e *environment) etcdCommand(ctx context.Context, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	args = append([]string{"etcd", "--data-dir=" + e.SlipwayDataDir()}, args...)
	if out, err := exec.CommandContext(ctx, filepath.Join(e.bin, slipway), args...).CombinedOutput(); err != nil {
		return fmt.Errorf("slipway-apiserver %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}

// snapshot is the path of the snapshot that was saved before the damage.
func (e *environment) snapshot() string { return filepath.Join(e.dir, "snapshot.db") }

// damages are the kinds of damage to a store, used in turn by the cells, with the server's message for each.
var damages = []struct {
	do   func(member string) error
	says string
}{
	{func(member string) error { return os.RemoveAll(filepath.Join(member, "member", "wal")) }, "no write-ahead log"},
	{func(member string) error { return os.Truncate(filepath.Join(member, "member", "snap", "db"), 20_000) }, "is damaged"},
	{func(member string) error { return os.RemoveAll(member) }, "its data below member-data is missing"},
	{emptyLog, "is empty"},
}

func emptyLog(member string) error {
	logs, err := filepath.Glob(filepath.Join(member, "member", "wal", "*.wal"))
	if err != nil || len(logs) == 0 {
		return fmt.Errorf("there is no write-ahead log: %w", err)
	}
	return os.Truncate(logs[len(logs)-1], 0)
}

// sicken saves a snapshot, kills the server and damages the data. The server must then refuse to start.
func sicken(ctx context.Context, e *environment) error {
	if err := os.RemoveAll(e.snapshot()); err != nil {
		return err
	}
	if err := e.etcdCommand(ctx, "snapshot", e.snapshot()); err != nil {
		return err
	}
	if err := e.KillSlipway(); err != nil {
		return err
	}
	damage := damages[e.damaged%len(damages)]
	e.damaged++
	if err := damage.do(filepath.Join(e.SlipwayDataDir(), "member-data")); err != nil {
		return err
	}
	return e.refusesToStart(ctx, damage.says, "slipway-apiserver etcd restore FILE")
}

// refusesToStart checks that the server exits by itself and logs one line that contains all of texts.
func (e *environment) refusesToStart(ctx context.Context, texts ...string) error {
	err := e.RestartSlipway(ctx)
	if err == nil || !strings.Contains(err.Error(), "ended by itself (exit status 1)") {
		return fmt.Errorf("a server with a sick store: %w, want it to end with 1", err)
	}
	<-e.Failed() // the same
	for line := range strings.Lines(err.Error()) {
		all := true
		for _, text := range texts {
			all = all && strings.Contains(line, text)
		}
		if all {
			return nil
		}
	}
	return fmt.Errorf("no line of the server's output has %q: %w", texts, err)
}

// anyMachine is a name that occurs in every call.
const anyMachine = ""

// heal restores the snapshot, checks that the controllers wait, and releases the store.
func heal(ctx context.Context, e *environment) error {
	if err := e.etcdCommand(ctx, "restore", e.snapshot()); err != nil {
		return err
	}
	before, err := e.check.Asked(ctx, anyMachine)
	if err != nil {
		return err
	}
	const says = "nothing is done in vSphere until"
	said := strings.Count(e.log(), says)
	if err := e.RestartSlipway(ctx); err != nil {
		return err
	}
	if err := until(ctx, "the server waits for the release", func(context.Context) error {
		if strings.Count(e.log(), says) == said {
			return errors.New("the log has no such line")
		}
		return nil
	}); err != nil {
		return err
	}
	after, err := e.check.Asked(ctx, anyMachine)
	if err != nil {
		return err
	}
	if diff := cmp.Diff(before, after); diff != "" {
		return fmt.Errorf("before the release vSphere received calls (-before +after):\n%s", diff)
	}
	return e.etcdCommand(ctx, "release")
}

// filler is the prefix of the keys that fill a store.
const filler = "/filler/"

// overfill writes to the store until it accepts no more writes.
func (e *environment) overfill(ctx context.Context) error {
	client, err := e.check.Store()
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	const most = 1000 // a quota of 64 MiB has space for 64 of them
	value := strings.Repeat("f", 1<<20)
	for i := range most {
		if _, err := client.Put(ctx, fmt.Sprintf("%s%d", filler, i), value); err != nil {
			return err
		}
	}
	return fmt.Errorf("the store took %d MiB", most)
}

// fillStore writes to the store until neither the store nor the API accepts more writes.
func fillStore(ctx context.Context, e *environment) error {
	if err := e.overfill(ctx); !errors.Is(err, rpctypes.ErrNoSpace) {
		return fmt.Errorf("filling the store: %w", err)
	}
	return until(ctx, "the API reports that the store is full", func(ctx context.Context) error {
		if err := e.write(ctx); err == nil {
			return errors.New("a full store took a write")
		}
		return e.unready(ctx, "etcd-space")
	})
}

// write changes an API object that no other test uses.
func (e *environment) write(ctx context.Context) error {
	types := e.api.InstancetypeV1alpha1().VirtualMachineInstancetypes(e.namespaces[len(e.namespaces)-1])
	big, err := types.Get(ctx, catalogue.Big, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if big.Labels == nil {
		big.Labels = map[string]string{}
	}
	big.Labels["written"] = "again-" + big.ResourceVersion
	_, err = types.Update(ctx, big, metav1.UpdateOptions{})
	return err
}

// emptyStore deletes the data that fills the store, and waits until the store accepts writes again.
func emptyStore(ctx context.Context, e *environment) error {
	client, err := e.check.Store()
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	if _, err := client.Delete(ctx, filler, clientv3.WithPrefix()); err != nil {
		return fmt.Errorf("making room in the store: %w", err)
	}
	return until(ctx, "the API takes writes again", e.write)
}
