// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package root_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/slipway-dev/slipway/cmd/virtctl/cli"
)

// onTerminal shows progress on a terminal of 20 columns.
func onTerminal(out *bytes.Buffer) *cli.Progress {
	return &cli.Progress{Out: out, Bar: out, Columns: func() int { return 20 }}
}

func TestProgress_FitsInOneLineOfATerminal(t *testing.T) {
	var out bytes.Buffer
	p := onTerminal(&out)
	told := p.State("web: Creating", "", "1 of 2")
	told = p.State("web: "+strings.Repeat("é", 30), told, "1 of 2")
	p.State("db: \x1b[2J", told, "2s")
	p.Far("%d objects so far", 7)
	p.Say("web is there")
	p.Far("%d objects so far", 8)
	p.End()
	want := "\rweb: Crea… (1 of 2)" + "\rweb: éééé… (1 of 2)" + "\rdb: \\u001b[2J (2s) " + "\r7 objects so far  \nweb is there\n\r8 objects so far\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestProgress_PrintsOneLinePerStateToAPipe(t *testing.T) {
	var out bytes.Buffer
	p := cli.ProgressOn(cli.Terminal{Out: &out})
	told := ""
	for _, doing := range []string{"web: Creating", "web: Creating", "web: Starting"} {
		told = p.State(doing, told, "1 of 2")
	}
	p.Far("%d objects so far", 7)
	p.End()
	if want := "web: Creating\nweb: Starting\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func TestProgress_ReportsGrowthPeriodically(t *testing.T) {
	began := time.Unix(1000, 0)
	for name, c := range map[string]struct {
		terminal bool
		want     string
	}{
		"on a terminal": {true, "\rslipway.db: 2.0 KiB\rslipway.db: 3.0 KiB\n"},
		"in a pipe":     {false, "slipway.db: 3.0 KiB\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			p := &cli.Progress{Out: &out}
			if c.terminal {
				p = onTerminal(&out)
			}
			for i, after := range []time.Duration{0, 300 * time.Millisecond, 10 * time.Second, 10*time.Second + time.Millisecond} {
				p.Grown("slipway.db", int64(i+1)<<10, began.Add(after))
			}
			p.End()
			if out.String() != c.want {
				t.Errorf("got %q, want %q", out.String(), c.want)
			}
		})
	}
}

func TestProgress_ReportsEachAwaitedStateOnce(t *testing.T) {
	var out bytes.Buffer
	f := cli.NewFactory(nil, genericiooptions.IOStreams{ErrOut: cli.Terminal{Out: &out}})
	gone := apierrors.NewNotFound(schema.GroupResource{Resource: "things"}, "it")
	for name, c := range map[string]struct {
		end       error
		want      string
		succeeded bool
	}{
		"so":   {nil, "", true},
		"gone": {gone, "not seen so (--timeout 1m0s): not found: deleted", false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				out.Reset()
				asked := 0
				err := f.AwaitState(context.Background(), time.Minute, "not seen so", func(context.Context) (bool, string, error) {
					asked++
					switch asked {
					case 1:
						return false, "Uploading", nil
					case 2:
						return false, "", errors.New("away for a moment")
					}
					return c.end == nil, "not found: deleted", c.end
				})
				if (err == nil) != c.succeeded || err != nil && err.Error() != c.want || out.String() != "Uploading\n" {
					t.Errorf("%v, %q; want %q", err, out.String(), c.want)
				}
			})
		})
	}
}

// A rate limiter would fail a request of a wait that would begin after its end, with an error that has no type.
func TestFactory_LeavesTheLimitOfRequestsToTheServer(t *testing.T) {
	flags := genericclioptions.NewConfigFlags(false)
	*flags.APIServer = "https://192.0.2.1"
	config, err := cli.NewFactory(flags, genericiooptions.IOStreams{}).Config()
	if err != nil || config.QPS >= 0 {
		t.Errorf("config %+v, %v; want no rate limiter", config, err)
	}
}
