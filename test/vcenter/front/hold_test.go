// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/simulator"
)

// counting answers calls and counts them.
type counting struct{ n atomic.Int32 }

func (c *counting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.n.Add(1)
	w.Header().Set("Kept", "yes")
	w.WriteHeader(http.StatusAccepted)
	_, _ = io.Copy(w, r.Body)
}

func TestHold_DelaysCallsAndResponses(t *testing.T) {
	const deploy = libraryItemPath + "id:x?~action=deploy"
	for name, tc := range map[string]struct {
		hold, path, body string
		before           int32
	}{
		"a call over SOAP":            {"FindByUuid", sdkPrefix, find("a"), 0},
		"the answer to one":           {AnswerOf("FindByUuid"), sdkPrefix, find("a"), 1},
		"a deployment":                {RESTDeploy, deploy, "{}", 0},
		"the answer to a deployment":  {AnswerOf(RESTDeploy), deploy, "{}", 1},
		"a login over REST":           {RESTLogin, apiSessionPath, "", 0},
		"the answer to such a log in": {AnswerOf(RESTLogin), apiSessionPath, "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			next := &counting{}
			f := New(next, simulator.NewRegistry(), nil, nil)
			server := httptest.NewServer(f)
			defer server.Close()
			f.Hold(tc.hold)

			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			send := func(ctx context.Context) chan string {
				answered := make(chan string, 1)
				go func() {
					req, _ := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+tc.path, strings.NewReader(tc.body))
					res, err := http.DefaultClient.Do(req)
					if err != nil {
						answered <- "no answer"
						return
					}
					defer func() { _ = res.Body.Close() }()
					text, _ := io.ReadAll(res.Body)
					answered <- res.Status + " " + res.Header.Get("Kept") + " " + string(text)
				}()
				return answered
			}
			awaitHeld(t, f, map[string]int{}, nil)
			left, stays := send(ctx), send(t.Context())
			awaitHeld(t, f, map[string]int{tc.hold: 2}, nil)
			if n := next.n.Load(); n != 2*tc.before {
				t.Errorf("%d calls were carried out while held, want %d", n, 2*tc.before)
			}
			leave()
			awaitHeld(t, f, map[string]int{tc.hold: 1}, left)
			f.Release(tc.hold)
			if got, want := <-stays, "202 Accepted yes "+tc.body; got != want {
				t.Errorf("the answer is %q, want %q", got, want)
			}
			if n := next.n.Load(); n != 1+tc.before {
				t.Errorf("%d calls were executed, want %d: one client had disconnected", n, 1+tc.before)
			}
			awaitHeld(t, f, map[string]int{}, nil)
		})
	}
}

// awaitHeld waits until this many calls are held, and first for the end of a call if one is given.
func awaitHeld(t *testing.T, f *Front, want map[string]int, ended <-chan string) {
	t.Helper()
	if ended != nil {
		<-ended
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	limit := time.After(time.Minute)
	for {
		diff := cmp.Diff(want, f.Held())
		if diff == "" {
			return
		}
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("held (-want +got):\n%s", diff)
		}
	}
}
