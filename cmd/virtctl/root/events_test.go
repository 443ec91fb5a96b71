// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package root_test

import (
	"bytes"
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/slipway-dev/slipway/cmd/virtctl/root"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/test/clitest"
)

func TestEvents_ListsTheEventsOfTheVMAndItsParts(t *testing.T) {
	often := clitest.EventOf("VirtualMachineInstance", "web", "Often", "again\nand again", time.Minute)
	often.Series = &corev1.EventSeries{Count: 7, LastObservedTime: metav1.NewMicroTime(clitest.Noon)}
	s := clitest.WithEvents(
		often,
		clitest.EventOf("VirtualMachine", "web", "Created", "made", 3*time.Minute), clitest.EventOf("VirtualMachine", "db", "Created", "made", time.Minute),
		clitest.EventOf("VirtualMachineSnapshot", "one", "Ready", "taken", 2*time.Minute), clitest.EventOf("VirtualMachineSnapshot", "two", "Ready", "taken", time.Minute),
		clitest.EventOf("VirtualMachineSnapshot", "gone", "Ready", "taken", time.Minute),
		clitest.EventOf("VirtualMachinePublishRequest", "web", "Complete", "uploaded \x1b[2J", 90*time.Second), clitest.EventOf("VirtualMachineGroup", "web", "Other", "of a group", time.Minute),
	)
	code, out, errOut := run(t, s, "events", "web")
	want := `LAST SEEN              TYPE     REASON     OBJECT                             MESSAGE
2026-05-01T11:57:00Z   Normal   Created    virtualmachine/web                 made
2026-05-01T11:58:00Z   Normal   Ready      virtualmachinesnapshot/one         taken
2026-05-01T11:58:30Z   Normal   Complete   virtualmachinepublishrequest/web   uploaded �[2J
2026-05-01T12:00:00Z   Normal   Often      virtualmachineinstance/web         again; and again (7 times)
`
	if diff := cmp.Diff(want, out); code != 0 || diff != "" {
		t.Errorf("exit code %d, %s (-want +got):\n%s", code, errOut, diff)
	}
	_, out, _ = run(t, s, "events", "-A")
	if n := strings.Count(out, "\ndev         2026-"); n != 8 || !strings.HasPrefix(out, "NAMESPACE   LAST SEEN") {
		t.Errorf("%d events of all namespaces, want 8:\n%s", n, out)
	}
	code, out, errOut = run(t, s, "events", "absent")
	if code != 0 || out != "" || errOut != "No events of virtualmachine dev/absent.\n" {
		t.Errorf("of one without events: exit code %d, %q, %q", code, out, errOut)
	}
}

func TestEvents_RejectsInvalidFlags(t *testing.T) {
	for want, args := range map[string][]string{
		`--all-namespaces cannot be combined with a name: got "web"`: {"events", "web", "-A"},
		`--type "warning": must be Normal or Warning`:                {"events", "--type", "warning"},
		"accepts at most 1 arg(s), received 2":                       {"events", "web", "db"},
	} {
		if code, _, errOut := run(t, &clitest.APIServer{}, args...); code != 1 || !strings.Contains(errOut, want) {
			t.Errorf("%v: exit code %d, %q; want %q", args, code, errOut, want)
		}
	}
}

// untilLines end a context when there are so many of them.
type untilLines struct {
	mu   sync.Mutex
	text bytes.Buffer
	left int
	stop context.CancelFunc
}

func (l *untilLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.left -= bytes.Count(p, []byte("\n")); l.left <= 0 {
		l.stop()
	}
	return l.text.Write(p)
}

func TestEvents_ResumesAWatchWithoutDuplicates(t *testing.T) {
	event := func(uid, version, name, kind string) corev1.Event {
		e := clitest.EventOf(kind, name, "E"+uid, "m", time.Minute)
		e.TypeMeta, e.UID, e.ResourceVersion = metav1.TypeMeta{APIVersion: "v1", Kind: "Event"}, types.UID(uid), version
		return e
	}
	first := event("1", "4", "web", "VirtualMachine")
	s := clitest.WithEvents(first)
	later := event("4", "9", "web", "VirtualMachine")
	s.Watched = []string{
		// A snapshot that came since is asked for; the connection ends.
		clitest.WatchEvent(t, "ADDED", first) + clitest.WatchEvent(t, "ADDED", event("2", "6", "new", "VirtualMachineSnapshot")) + clitest.WatchEvent(t, "ADDED", event("3", "7", "two", "VirtualMachineSnapshot")),
		// The cluster does not remember where it was.
		clitest.WatchEvent(t, "ERROR", metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: 410, Reason: metav1.StatusReasonExpired}),
		clitest.WatchEvent(t, "ADDED", later) + clitest.WatchEvent(t, "DELETED", first) + clitest.WatchEvent(t, "MODIFIED", event("4", "10", "web", "VirtualMachine")),
	}
	s.Answers[clitest.APIPrefix+"dev/virtualmachinesnapshots/new"] = vmv1alpha1.VirtualMachineSnapshot{ObjectMeta: metav1.ObjectMeta{Name: "new"}, Spec: vmv1alpha1.VirtualMachineSnapshotSpec{VMName: "web"}}
	server := httptest.NewServer(s)
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out := &untilLines{left: 5, stop: cancel}
	t.Setenv("KUBECONFIG", "/dev/null")
	var errOut bytes.Buffer
	code := root.Main(ctx, []string{"virtctl", "--server", server.URL, "-n", "dev", "events", "web", "--watch"}, genericclioptions.NewConfigFlags(true), genericiooptions.IOStreams{Out: out, ErrOut: &errOut})
	if code != 0 || ctx.Err() == nil || errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		t.Fatalf("following events: exit code %d, %s, %v\n%s", code, errOut.String(), context.Cause(ctx), out.text.String())
	}
	var reasons []string
	for line := range strings.Lines(out.text.String()) {
		reasons = append(reasons, strings.Fields(line)[2])
	}
	if diff := cmp.Diff([]string{"TYPE", "E1", "E2", "E4", "E4"}, reasons); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	s.Watching.Lock()
	defer s.Watching.Unlock()
	if diff := cmp.Diff([]string{"5", "7", "5"}, s.Versions[:3]); diff != "" {
		t.Errorf("watches began at (-want +got):\n%s", diff)
	}
}
