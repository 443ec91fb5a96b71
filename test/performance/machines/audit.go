// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// policy makes the API server of the workload clusters log the reader of each read. Writes are counted by its
// metrics.
const policy = `
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
omitManagedFields: true
rules:
- {level: Metadata, verbs: [get, list, watch, head, options]}
- {level: None}
`

// auditLog is the audit log of the workload clusters.
func auditLog(dir string) string { return filepath.Join(dir, "audit.log") }

// auditArgs are the flags for the audit log.
func auditArgs(dir string) ([]string, error) {
	file := filepath.Join(dir, "audit.yaml")
	if err := os.WriteFile(file, []byte(policy), 0o600); err != nil {
		return nil, fmt.Errorf("writing the policy of the audit log: %w", err)
	}
	return []string{"--audit-policy-file=" + file, "--audit-log-path=" + auditLog(dir), "--audit-log-maxsize=0", "--audit-log-mode=batch"}, nil
}

// asking is a kind of read: the program and the resource.
type asking struct{ by, verb, what string }

// countReads counts the reads that began in a period.
func (e *environment) countReads(from, to time.Time) (map[asking]int, error) {
	f, err := os.Open(auditLog(e.dir))
	if err != nil {
		return nil, fmt.Errorf("opening the audit log: %w", err)
	}
	defer f.Close()
	found := map[asking]int{}
	decoder := json.NewDecoder(bufio.NewReader(f))
	for {
		var event auditv1.Event
		switch err := decoder.Decode(&event); {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return found, nil // The last line may be incomplete.
		case err != nil:
			return nil, fmt.Errorf("reading the audit log: %w", err)
		}
		at := event.RequestReceivedTimestamp.Time
		if at.Before(from) || at.After(to) || event.Verb == "watch" && event.Stage != auditv1.StageResponseStarted {
			continue
		}
		path, _, _ := strings.Cut(event.RequestURI, "?")
		found[asking{program(event.UserAgent), event.Verb, path}]++
	}
}

// program is the name of the client, with the requested resource for a process of many parts.
func program(agent string) string {
	name, _, _ := strings.Cut(agent, "/")
	if i := strings.LastIndex(agent, "/"); i >= 0 && strings.HasPrefix(agent[i+1:], "system:serviceaccount:") {
		name += agent[strings.LastIndex(agent, ":"):]
	}
	return name
}

// itsName is the name of this program in the log.
const itsName = "machines"

// strangers are programs that are not controllers of Machines: those of the workload clusters themselves, and this one.
var strangers = []string{"kube-apiserver", "kube-controller-manager", itsName}

// beyondProbes returns the reads of the controllers and those of others, without watches and probes (GET /).
func beyondProbes(asked map[asking]int) (ours, others map[asking]int) {
	ours, others = map[asking]int{}, map[asking]int{}
	for a, n := range asked {
		switch by, _, _ := strings.Cut(a.by, ":"); {
		case a.verb == "watch":
		case slices.Contains(strangers, by):
			others[a] = n
		case a.what != "/":
			ours[a] = n
		}
	}
	return ours, others
}

// rate returns reads per minute, the most frequent first.
func rate(asked map[asking]int, minutes float64) string {
	sum := 0
	var lines []string
	most := slices.SortedFunc(maps.Keys(asked), func(a, b asking) int { return asked[b] - asked[a] })
	for i, a := range most {
		if sum += asked[a]; i < 12 {
			lines = append(lines, fmt.Sprintf("%s %s %s %.1f", a.by, strings.ToUpper(a.verb), a.what, float64(asked[a])/minutes))
		}
	}
	return strings.TrimSpace(fmt.Sprintf("%.1f %s", float64(sum)/minutes, strings.Join(lines, ", ")))
}
