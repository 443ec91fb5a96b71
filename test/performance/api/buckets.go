// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"
)

// bucket is a kind of work.
type bucket struct {
	name string
	of   *regexp.Regexp
}

const restOfIt = "the rest"

// whole are buckets that include everything that their functions call. A sample is counted in the first of them on
// its stack.
var whole = []bucket{
	{"collecting garbage", regexp.MustCompile(`^runtime\.(gcBgMarkWorker|gcAssist|bgsweep|bgscavenge|gcStart|gcMarkDone)`)},
	{"prometheus metrics", regexp.MustCompile(`prometheus|component-base/metrics|/endpoints/metrics\.(Record|monitor)`)},
	{"managedFields", regexp.MustCompile(`structured-merge-diff|managedfields|handlers/fieldmanager`)},
	{"audit", regexp.MustCompile(`apiserver/pkg/audit\.|apiserver/plugin/pkg/audit`)},
	{"watch cache", regexp.MustCompile(`cacher\.\(\*(watchCache|cacheWatcher|threadSafeMap|Cacher\)\.(dispatch|processEvent))|etcd3\.\(\*watch|cache\.\(\*Reflector|cache\.handle.*Watch`)},
	{"etcd: raft, WAL, mvcc", regexp.MustCompile(`^go\.etcd\.io/|/store/embedded\.`)},
	{"gRPC", regexp.MustCompile(`^google\.golang\.org/grpc`)},
	{"x509 of client certificates", regexp.MustCompile(`^crypto/x509\.`)},
	{"validation", regexp.MustCompile(`/validation\.`)},
	{"encode and decode", regexp.MustCompile(`serializer/|encoding/json|util/json|\.Unmarshal|\.Marshal`)},
	{"conversion and deep copies", regexp.MustCompile(`Convert_|DeepCopy`)},
}

// innermost are buckets of samples in no other bucket. The innermost function decides.
var innermost = []bucket{
	{"TLS", regexp.MustCompile(`^crypto/`)},
	{"HTTP/2", regexp.MustCompile(`http2|hpack`)},
	{"tracing", regexp.MustCompile(`opentelemetry|otelhttp|component-base/tracing`)},
	{"priority and fairness", regexp.MustCompile(`flowcontrol`)},
	{"admission: size, quota", regexp.MustCompile(`slipway/pkg/(instancetype|admission|quota|registry)`)},
	{"storage", regexp.MustCompile(`apiserver/pkg/(storage|registry)`)},
	{"filters and handlers", regexp.MustCompile(`^k8s\.io/apiserver/|^net/http\.|slipway/pkg/apiserver`)},
	{"scheduler and poll", regexp.MustCompile(`^runtime\.(schedule|findRunnable|mcall|netpoll|sysmon|wakep|futex|mstart|goschedImpl)`)},
}

// inBuckets reads a profile with "go tool pprof" and returns the processor time of each bucket and of all together.
func inBuckets(ctx context.Context, file string) (map[string]time.Duration, time.Duration, error) {
	var problem bytes.Buffer
	command := exec.CommandContext(ctx, "go", "tool", "pprof", "-traces", "-symbolize=none", file)
	command.Stderr = &problem
	text, err := command.Output()
	if err != nil {
		return nil, 0, fmt.Errorf("reading the profile %s: %w: %s", file, err, problem.Bytes())
	}
	spent, all := map[string]time.Duration{}, time.Duration(0)
	var stack []string
	var cost time.Duration
	finish := func() {
		spent[bucketOf(stack)] += cost
		all += cost
		stack, cost = nil, 0
	}
	lines, begun := bufio.NewScanner(bytes.NewReader(text)), false
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if strings.HasPrefix(line, "-----------+") {
			finish()
			begun = true
			continue
		}
		if !begun || line == "" {
			continue
		}
		if head, function, ok := strings.Cut(line, " "); ok && len(stack) == 0 {
			if cost, err = time.ParseDuration(head); err != nil {
				return nil, 0, fmt.Errorf("the profile %s has the sample %q: %w", file, line, err)
			}
			line = strings.TrimSpace(function)
		}
		stack = append(stack, strings.TrimSuffix(line, " (inline)"))
	}
	finish()
	return spent, all, lines.Err()
}

// bucketOf returns the bucket of a sample, whose functions are ordered from the innermost outwards.
func bucketOf(stack []string) string {
	for _, b := range whole {
		if slices.ContainsFunc(stack, b.of.MatchString) {
			return b.name
		}
	}
	for _, function := range stack {
		for _, b := range innermost {
			if b.of.MatchString(function) {
				return b.name
			}
		}
	}
	return restOfIt
}
