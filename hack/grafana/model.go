// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package main

// What a panel looks like.
const (
	number = "stat"
	graph  = "timeseries"
)

// Units of Grafana.
const (
	short   = "short"
	seconds = "s"
	space   = "bytes"
	hertz   = "hertz"
	percent = "percentunit"
	rates   = "ops"
	asked   = "reqps"
	told    = "eps"
)

// columns is how wide a dashboard is, in Grafana's units.
const columns = 24

// query is one that a panel asks, with the name of each line.
type query struct{ expr, legend string }

// panel shows the answers to queries.
type panel struct {
	title, about, look, unit string
	// bad is the value from which on a number is red; 0 for none.
	bad     float64
	queries []query
	// names are what lines are called instead of what their queries call them.
	names [][2]string
}

// row are panels of the same height beside one another, under a title.
type row struct {
	title  string
	panels []panel
}

// dashboard are rows.
type dashboard struct {
	title, uid, about string
	// filter is the label that one can choose values of, besides job; of is a metric that has it, and
	// by what people call it.
	filter, of, by string
	rows           []row
}

// object is one of JSON.
type object map[string]any

var source = object{"type": "prometheus", "uid": "${datasource}"}

// model is the dashboard in the words of Grafana.
func (d dashboard) model() object {
	panels := []object{}
	y := 0
	add := func(p object, x, w, h int) {
		p["id"], p["gridPos"] = len(panels)+1, object{"x": x, "y": y, "w": w, "h": h}
		panels = append(panels, p)
	}
	for _, r := range d.rows {
		add(object{"type": "row", "title": r.title, "collapsed": false, "panels": []object{}}, 0, columns, 1)
		y++
		height := 10 // four lines of a legend are seen, which gets a third
		if r.panels[0].look == number {
			height = 4
		}
		for i, p := range r.panels {
			w := columns / len(r.panels)
			add(p.model(), i*w, w, height)
		}
		y += height
	}
	return object{
		"title": d.title, "uid": d.uid, "description": d.about, "tags": []string{"slipway"}, "schemaVersion": 39, "version": 1,
		"editable": true, "graphTooltip": 1, "refresh": "30s", "timezone": "browser", "time": object{"from": "now-6h", "to": "now"},
		"annotations": object{"list": []object{}}, "templating": object{"list": d.variables()}, "panels": panels,
		"links": []object{{"title": "Slipway", "type": "dashboards", "tags": []string{"slipway"}, "asDropdown": false, "includeVars": true, "keepTime": true}},
	}
}

func (d dashboard) variables() []object {
	values := func(name, label, metric string) object {
		return object{
			"name": name, "label": label, "type": "query", "datasource": source, "refresh": 2, "sort": 1, "multi": true, "includeAll": true,
			"allValue": ".+", "current": object{"text": "All", "value": "$__all"},
			"query": object{"query": "label_values(" + metric + ", " + name + ")", "refId": name},
		}
	}
	all := []object{
		{"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus", "refresh": 1},
		values("job", "Job", "slipway_controller_active_workers"),
	}
	if d.filter != "" {
		all = append(all, values(d.filter, d.by, d.of))
	}
	return all
}

func (p panel) model() object {
	targets := make([]object, 0, len(p.queries))
	for i, q := range p.queries {
		targets = append(targets, object{
			"refId": string(rune('A' + i)), "expr": q.expr, "legendFormat": q.legend, "datasource": source,
			"editorMode": "code", "range": p.look == graph, "instant": p.look == number,
		})
	}
	steps := []object{{"color": "green", "value": nil}}
	if p.bad > 0 {
		steps = append(steps, object{"color": "red", "value": p.bad})
	}
	defaults := object{"unit": p.unit, "min": 0, "thresholds": object{"mode": "absolute", "steps": steps}}
	options := object{
		"reduceOptions": object{"calcs": []string{"lastNotNull"}, "fields": "", "values": false},
		"colorMode":     "value", "graphMode": "none", "textMode": "auto", "justifyMode": "auto", "orientation": "auto",
	}
	if p.look == graph {
		// What happens seldom is a point between gaps, which is seen by "auto" and not by "never".
		defaults["custom"] = object{"drawStyle": "line", "fillOpacity": 10, "lineWidth": 1, "showPoints": "auto", "spanNulls": false}
		options = object{
			"legend": object{
				"displayMode": "table", "placement": "bottom", "showLegend": true, "calcs": []string{"lastNotNull", "max"},
				"sortBy": "Max", "sortDesc": true, // the rest of a long one scrolls
			},
			"tooltip": object{"mode": "multi", "sort": "desc"},
		}
	}
	return object{
		"type": p.look, "title": p.title, "description": p.about, "datasource": source, "targets": targets,
		"fieldConfig": object{"defaults": defaults, "overrides": p.overrides()}, "options": options,
	}
}

func (p panel) overrides() []object {
	all := []object{}
	for _, n := range p.names {
		all = append(all, object{
			"matcher":    object{"id": "byName", "options": n[0]},
			"properties": []object{{"id": "displayName", "value": n[1]}},
		})
	}
	return all
}

// one is a panel of one number.
func one(title, unit, about, expr string) panel {
	return panel{title: title, about: about, look: number, unit: unit, queries: []query{{expr, ""}}}
}

// wrong is one that is red from 1 on.
func wrong(title, about, expr string) panel {
	p := one(title, short, about, expr)
	p.bad = 1
	return p
}

// lines is a panel of lines over time.
func lines(title, unit, about string, queries ...query) panel {
	return panel{title: title, about: about, look: graph, unit: unit, queries: queries}
}

// quantiles are the median and the 99th percentile of a histogram, by a label.
func quantiles(histogram, matching, by string) []query {
	bucket := "sum by (le, " + by + ") (rate(" + histogram + "_bucket{" + matching + "}[$__rate_interval]))"
	legend := "{{" + by + "}} "
	if by == "" {
		bucket, legend = "sum by (le) (rate("+histogram+"_bucket{"+matching+"}[$__rate_interval]))", ""
	}
	return []query{{"histogram_quantile(0.5, " + bucket + ")", legend + "median"}, {"histogram_quantile(0.99, " + bucket + ")", legend + "99th percentile"}}
}

// longest is the 99th percentile of a histogram, by a label that alone names the lines.
func longest(histogram, matching, by string) query {
	q := quantiles(histogram, matching, by)[1]
	q.legend = "{{" + by + "}}"
	return q
}
