// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package house

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const limitsDocument = "docs/reference/limits.md"

func limits() (all []Limit) {
	for _, g := range Groups {
		all = append(all, g.Limits...)
	}
	return all
}

func TestLimits_NameEveryLoopQueueAndRetry(t *testing.T) {
	named := map[string]bool{}
	for _, l := range limits() {
		for _, function := range strings.Fields(l.In) {
			named[function] = true
		}
	}
	for _, function := range calculations {
		named[function] = true
	}
	for _, s := range tree(t) {
		for _, function := range s.loops() {
			if _, ok := named[function]; !ok {
				t.Errorf("%s: %s loops, waits, queues or retries, and no entry of test/house/limits_table.go names it", s.path, function)
			}
			named[function] = false
		}
	}
	for _, function := range slices.Sorted(maps.Keys(named)) {
		if named[function] {
			t.Errorf("test/house/limits_table.go names %s, which does not loop, wait, queue or retry", function)
		}
	}
}

func TestLimits_NameMetricsAndTestsThatExist(t *testing.T) {
	literal, function := regexp.MustCompile(`"([a-z0-9_]+)"`), regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	tests, metrics := map[string]bool{}, map[string]bool{}
	for _, s := range tree(t) {
		dir := strings.TrimPrefix(filepath.Dir(s.path), "pkg/")
		if s.isTest() {
			for _, m := range function.FindAllStringSubmatch(s.text, -1) {
				tests[dir+"/"+m[1]] = true
			}
		}
		if !s.ofServer() {
			continue
		}
		var prefixes, names []string
		for _, m := range literal.FindAllStringSubmatch(s.text, -1) {
			if strings.HasSuffix(m[1], "_") {
				prefixes = append(prefixes, m[1])
			}
			names = append(names, m[1])
		}
		for _, name := range names {
			metrics[name] = true
			for _, prefix := range prefixes {
				metrics[prefix+name] = true
			}
		}
	}
	for _, l := range limits() {
		if l.Metric != "" && !metrics[l.Metric] {
			t.Errorf("%s: there is no metric %s", l.Work, l.Metric)
		}
		if !tests[l.Test] {
			t.Errorf("%s: there is no test %s", l.Work, l.Test)
		}
		if (l.Flag == "") != (l.Default == "") || l.Bound == "" || l.In == "" {
			t.Errorf("%s: the limit, its default or its functions are missing", l.Work)
		}
		if (l.Flag == "" || l.Metric == "") && !strings.HasSuffix(l.Harmless, ".") {
			t.Errorf("%s: it lacks a flag or a metric, and no sentence explains why it is harmless", l.Work)
		}
	}
}

func TestLimits_DocumentIsGenerated(t *testing.T) {
	is, err := os.ReadFile(filepath.Join(root, limitsDocument))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Document(), string(is)); diff != "" {
		t.Errorf("%s is not what make generate (go run ./hack/reference-table %s) writes (-want +got):\n%s", limitsDocument, limitsDocument, diff)
	}
}

func TestLoops_AreFound(t *testing.T) {
	for i, tc := range []struct {
		body  string
		found bool
	}{
		{"for { f() }", true},
		{"for i := 0; ; i++ { f() }", true},
		{"for ctx.Err() == nil { f() }", true},
		{"for open { <-c }", true},
		{"for open { select {} }", true},
		{"for i := 0; i < 9; i++ { <-c }", false},
		{"for len(a) > 0 { a = a[1:] }", false},
		{"for range a { go f() }", true},
		{"go f()", true},
		{"all.Go(f)", true},
		{"<-time.After(d)", true},
		{"deadline = t.After(u)", false},
		{"wait.UntilWithContext(ctx, f, d)", true},
		{"wait.Done()", false},
		{"q = workqueue.NewTypedRateLimitingQueue[string](l)", true},
		{"retry.RetryOnConflict(retry.DefaultBackoff, f)", true},
		{"i = cache.NewSharedIndexInformer(l, o, 0, nil)", true},
		{"l = rate.NewLimiter(1, 1)", true},
	} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			var want []string
			if tc.found {
				want = []string{"p/T.f"}
			}
			text := "package p\nfunc (t *T[K]) f() {\n" + tc.body + "\n}\n"
			if diff := cmp.Diff(want, parse(t, "pkg/p/p.go", text).loops()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.body, diff)
			}
			if got := parse(t, "test/p/p.go", text).loops(); got != nil {
				t.Errorf("outside of the product: %v", got)
			}
		})
	}
	if got := parse(t, "pkg/p/p.go", "package p\nfunc Run() {\nall.Go(f)\n}\n").loops(); got != nil {
		t.Errorf("a Run that starts parts: %v", got)
	}
}
