// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

func identityOf(t *testing.T, dir string) string {
	t.Helper()
	id, err := identity(dir)
	if err != nil {
		t.Fatal(err)
	}
	return id
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
	if id, err := identity(filepath.Join(t.TempDir(), "missing")); err == nil {
		t.Errorf("a directory that is not there gave the identity %s", id)
	}
}

// The Lease of one that was killed is not given back.
func TestTheLeaseOfAKilledProcessIsTakenOverAtOnce(t *testing.T) {
	dir := t.TempDir()
	killed, seconds, now := identityOf(t, dir), int32(3600), metav1.NowMicro()
	host := fake.NewClientset(&coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: defaultNamespace, Name: leaseName},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: &killed, LeaseDurationSeconds: &seconds, AcquireTime: &now, RenewTime: &now,
		},
	})
	l, _ := newLeadership(host, true)
	l.deps.dataDir = dir
	go l.elect(t.Context())
	select {
	case <-l.elected:
	case <-time.After(patience):
		t.Fatal("the successor waits for the Lease to run out")
	}
	if !l.deps.alone.IsZero() {
		t.Error("the Lease says since when the process is alone, though its directory does")
	}
}

func TestWithoutADirectoryAProcessIsAloneFromItsLease(t *testing.T) {
	for _, elect := range []bool{true, false} {
		l, _ := newLeadership(fake.NewClientset(), elect)
		before := time.Now()
		go l.elect(t.Context())
		select {
		case <-l.elected:
		case <-time.After(patience):
			t.Fatal("the controllers were not started")
		}
		if got := !l.deps.alone.Before(before) && !l.deps.alone.IsZero(); got != elect {
			t.Errorf("with the Lease %v, alone since %v", elect, l.deps.alone)
		}
	}
}
