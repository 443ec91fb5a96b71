// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"

	versionedfake "github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/fake"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
)

func identityOf(t *testing.T, dir string) string {
	t.Helper()
	id, err := replicaName(dir)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// noZones are those of a server that knows no objects.
func noZones(o *Options) *zoneSet {
	return newZoneSet(externalversions.NewSharedInformerFactory(versionedfake.NewSimpleClientset(), 0), &o.VCenter)
}

func TestIdentityIsThatOfTheDataDirectory(t *testing.T) {
	dir := t.TempDir()
	first := identityOf(t, dir)
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(first, host+"_") {
		t.Errorf("the identity %s does not name the host %s", first, host)
	}
	if again := identityOf(t, dir); again != first {
		t.Errorf("the next process on the same directory is %s, want %s", again, first)
	}
	if other := identityOf(t, t.TempDir()); other == first {
		t.Errorf("two directories have the identity %s", other)
	}
	if a, b := identityOf(t, ""), identityOf(t, ""); a == b {
		t.Errorf("two processes without a directory have the identity %s", a)
	}
}

func TestIdentityThatWasNotWrittenCompletelyIsReplaced(t *testing.T) {
	dir := t.TempDir()
	first := identityOf(t, dir)
	if err := os.WriteFile(filepath.Join(dir, identityFile), []byte(first[:4]), 0o600); err != nil {
		t.Fatal(err)
	}
	second := identityOf(t, dir)
	if second == first || identityOf(t, dir) != second {
		t.Errorf("after %s the identity is %s and does not stay", first, second)
	}
}

func TestIdentityFailsWithoutItsDirectory(t *testing.T) {
	if id, err := replicaName(filepath.Join(t.TempDir(), "missing")); err == nil {
		t.Errorf("a directory that is not there gave the identity %s", id)
	}
}

// The Lease of one that was killed is not given back.
func TestTheLeaseOfAKilledProcessIsTakenOverAtOnce(t *testing.T) {
	dir := t.TempDir()
	killed, seconds, now := identityOf(t, dir), int32(3600), metav1.NowMicro()
	var held []runtime.Object
	for _, name := range []string{controllersLease, leaseOf("default")} {
		held = append(held, &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: defaultNamespace, Name: name},
			Spec: coordinationv1.LeaseSpec{
				HolderIdentity: &killed, LeaseDurationSeconds: &seconds, AcquireTime: &now, RenewTime: &now,
			},
		})
	}
	alone := time.Now().Add(-time.Hour)
	v := contending(t, fake.NewClientset(held...), dir, true)
	v.deps.alone = alone
	if got := v.alone("default"); !got.Equal(alone) {
		t.Errorf("alone since %s, and its directory says %s", got, alone)
	}
	if got := v.alone("default"); !got.After(alone) {
		t.Error("what the member before has tried is not forgotten")
	}
}

func TestWithoutADirectoryAProcessIsAloneFromItsLease(t *testing.T) {
	for _, elect := range []bool{true, false} {
		before := time.Now()
		v := contending(t, fake.NewClientset(), "", elect)
		if got := v.alone("default"); (!got.Before(before) && !got.IsZero()) != elect {
			t.Errorf("with the Lease %v, alone since %v", elect, got)
		}
	}
}

// contending is a process that holds the Leases.
func contending(t *testing.T, host *fake.Clientset, dir string, elect bool) *vcenters {
	t.Helper()
	o := NewOptions()
	o.Controllers.LeaderElect = elect
	d := &controllerDeps{options: o, host: host, dataDir: dir}
	if dir != "" {
		d.alone = time.Now()
	}
	if err := newLeases(d, leaseTimes(d.alone), func(err error) { t.Error(err) }); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.leases.Close)
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	for _, name := range []string{controllersLease, leaseOf("default")} {
		d.leases.Contend(t.Context(), name, name != controllersLease)
		if err := d.leases.Await(ctx, name); err != nil {
			t.Fatalf("the Lease %s is not held: %v", name, err)
		}
	}
	return newVCenters(d, noZones(o), nil)
}
