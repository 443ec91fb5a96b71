// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package exposition

import (
	"encoding/json"
	"html/template"
	"net/http"
	"strings"

	"github.com/slipway-dev/slipway/pkg/priorityqueue"
)

// Handler returns a handler that serves the snapshots of queues in the given order, as
// HTML if the Accept header prefers it, otherwise as a JSON array. It does not authorize
// requests.
func Handler(queues ...priorityqueue.Snapshotter) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "method "+r.Method+" is not allowed; use GET or HEAD", http.StatusMethodNotAllowed)
			return
		}
		snapshots := make([]priorityqueue.Snapshot, len(queues))
		for i, q := range queues {
			snapshots[i] = q.Snapshot()
		}
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Vary", "Accept")
		// A write error means that the client has disconnected.
		if wantsHTML(r.Header.Values("Accept")) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_ = page.Execute(w, snapshots)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		_ = e.Encode(snapshots)
	})
}

// wantsHTML reports whether an Accept header names HTML, and names it before JSON.
func wantsHTML(accept []string) bool {
	for _, media := range strings.Split(strings.Join(accept, ","), ",") {
		name, _, _ := strings.Cut(media, ";")
		switch strings.TrimSpace(name) {
		case "text/html":
			return true
		case "application/json":
			return false
		}
	}
	return false
}

var page = template.Must(template.New("queues").Parse(`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Work queues</title>
<style>body{font-family:sans-serif;margin:2em}table{border-collapse:collapse;margin:0 0 1.5em}
td,th{padding:.2em .8em;border-bottom:1px solid #ccc;text-align:left}td.n{text-align:right}</style></head><body>
{{range .}}<h2>{{.Name}}{{if .ShuttingDown}} (shutting down){{end}}</h2>
<p>{{.Ready}} ready, {{.Delayed}} delayed, {{.InProcess}} in process, {{.IdleWorkers}} idle workers</p>
{{if .Levels}}<table><tr><th>Priority</th><th>Depth</th><th>Oldest</th><th>Waits (s)</th><th>Groups</th><th></th></tr>
{{range .Levels}}<tr><td class="n">{{.Priority}}</td><td class="n">{{.Depth}}</td><td>{{.Oldest}}</td>` +
	`<td class="n">{{printf "%.3f" .OldestSeconds}}</td><td class="n">{{if .Groups}}{{.Groups}}{{end}}</td>` +
	`<td>{{if .Starving}}starving{{end}}</td></tr>
{{end}}</table>
{{end}}{{if .Held}}<table><tr><th>In process</th><th>Priority</th><th>Since (s)</th><th></th></tr>
{{range .Held}}<tr><td>{{.Key}}</td><td class="n">{{.Priority}}</td><td class="n">{{printf "%.3f" .Seconds}}</td>` +
	`<td>{{if .Queued}}queued again{{end}}</td></tr>
{{end}}</table>
{{end}}{{end}}</body></html>
`))
