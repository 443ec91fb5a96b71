// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"strings"
	"testing"
	"time"
)

func TestEvents_RejectUnknownNames(t *testing.T) {
	if _, err := selected("kill,flood"); err == nil || !strings.Contains(err.Error(), `"flood": want all`) || !strings.Contains(err.Error(), "sessions") {
		t.Errorf("error %v, want one with flood and the allowed names", err)
	}
}

func TestSeed_DefaultsToThatOfTheShuffle(t *testing.T) {
	if got := otherwise("1795440123456789"); got != 1795440123456789 {
		t.Errorf("with -shuffle=1795440123456789 the seed is %d", got)
	}
	for _, shuffle := range []string{"off", "on", "0"} {
		if a, b := otherwise(shuffle), otherwise(shuffle); a == b {
			t.Errorf("with -shuffle=%s two runs have the seed %d", shuffle, a)
		}
	}
}

func TestGoroutines_ExcludeThoseOfRequestsAndOtherCode(t *testing.T) {
	const profile = `goroutine profile: total 42
7 @ 0x1 0x2
#	0x1	github.com/slipway-dev/slipway/pkg/controller.(*Controller).Run+0x1	controller.go:1

20 @ 0x3
#	0x3	k8s.io/client-go/tools/cache.(*Reflector).watch+0x1	reflector.go:1

12 @ 0x4
#	0x4	github.com/slipway-dev/slipway/pkg/apiserver.BuildHandlerChain.func1+0x1	handlers.go:1
#	0x5	net/http.HandlerFunc.ServeHTTP+0x1	server.go:1

3 @ 0x6
#	0x6	github.com/vmware/govmomi/property.(*Collector).WaitForUpdatesEx+0x1	collector.go:1
`
	n, stacks := own(profile)
	if n != 10 {
		t.Errorf("%d goroutines are ours, want 10: %v", n, stacks)
	}
	fewer := strings.Replace(profile, "7 @ 0x1", "2 @ 0x1", 1)
	_, fresh := own(fewer)
	const want = `5 more at 0x1 0x2
#	0x1	github.com/slipway-dev/slipway/pkg/controller.(*Controller).Run+0x1	controller.go:1
`
	if got := more(stacks, fresh); got != want {
		t.Errorf("additional stacks:\n%s\nwant:\n%s", got, want)
	}
}

func TestLeftovers_OfAProcessAreReported(t *testing.T) {
	start := time.Now()
	fresh := use{goroutines: 40, files: 50, opened: 7}
	ended := map[string]time.Time{"of a process before": start.Add(-time.Second), "soap": start, "rest": start}
	if err := (use{goroutines: 50, files: 150, opened: 7, sessions: ended}).left(fresh, start); err != nil {
		t.Errorf("within the slack: %v", err)
	}
	for want, u := range map[string]use{
		"left: 51 goroutines, there were 40:\n11 more at somewhere": {goroutines: 51, stacks: map[string]int{"somewhere": 11}},
		"left: 151 open files":               {files: 151},
		"left: 8 views":                      {opened: 8},
		"left: the server has 3 sessions at": {sessions: map[string]time.Time{"a": start, "b": start, "c": start.Add(time.Second)}},
	} {
		if err := u.left(fresh, start); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
