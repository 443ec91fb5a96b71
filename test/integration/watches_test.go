// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/slipway-dev/slipway/cmd/slipway-apiserver/app"
	"github.com/slipway-dev/slipway/test/integration/framework"
)

func TestWatches_OfAUserAreLimited(t *testing.T) {
	const most = 3
	s := framework.StartStandaloneIn(t, t.TempDir(), func(o *app.Options) { o.MaxWatches = most })
	get := func(user, watch string) (io.ReadCloser, error) {
		return restClient(t, s.ConfigFor(user)).Get().AbsPath(machinesPath).Param("watch", watch).MaxRetries(0).Stream(t.Context())
	}
	begin := func(user string) io.ReadCloser {
		t.Helper()
		body, err := get(user, "true")
		if err != nil {
			t.Fatalf("a watch of %s: %v", user, err)
		}
		t.Cleanup(func() { _ = body.Close() })
		return body
	}
	first := begin("alice")
	for range most - 1 {
		begin("alice")
	}
	_, err := get("alice", "true")
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		t.Fatalf("one more watch is answered with %v", err)
	}
	status := answer.Status()
	if status.Code != http.StatusTooManyRequests || status.Details.RetryAfterSeconds != 10 ||
		status.Message != `user "alice" has 3 open watches; the maximum is 3 (--max-watches-per-user)` {
		t.Errorf("one more watch is answered with %d, %q and Retry-After %d", status.Code, status.Message, status.Details.RetryAfterSeconds)
	}
	if _, err := get("alice", "false"); err != nil {
		t.Errorf("a list: %v", err)
	}
	begin("bob")
	_ = first.Close()
	err = wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		body, err := get("alice", "true")
		if err == nil {
			t.Cleanup(func() { _ = body.Close() })
		}
		return err == nil, nil
	})
	if err != nil {
		t.Errorf("another watch after one has ended: %v", err)
	}
}
