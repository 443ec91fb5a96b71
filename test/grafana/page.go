// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package grafana

import (
	"bytes"
	_ "embed" // the template
	"fmt"
	"html/template"
	"strings"

	"github.com/slipway-dev/slipway/test/prometheus"
)

// Sizes in pixels: those of Grafana's grid, and of what is around the chart of a panel.
const (
	Width        = 1440
	columns      = 24
	cell         = 30
	gap          = 8
	heading      = 96
	padding      = 8
	panelTitle   = 28
	legendHeader = 22
	legendRow    = 20
	// legendPart is how much of a panel Grafana gives its legend at most; the rest of it scrolls.
	legendPart = 0.35
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// Shown is a panel with the answers to its queries, of which it has one for each target.
type Shown struct {
	Panel   *Panel
	Answers [][]prometheus.Series
}

// box is a panel on the page.
type box struct {
	Kind, Title, Description     string
	Column, Columns, Row, Height int
	Value, Color                 string
	Chart                        *Chart
	Headings                     []string
	Legend                       []entry
	LegendHeight                 int
}

// Page is a page of a dashboard, and its height in pixels.
func Page(d *Dashboard, shown []Shown, span Span) (page []byte, height int, err error) {
	var boxes []box
	rows := 0
	for _, s := range shown {
		b, err := s.box(span)
		if err != nil {
			return nil, 0, fmt.Errorf("drawing %s: %s: %w", d.Title, s.Panel.Title, err)
		}
		boxes = append(boxes, b)
		rows = max(rows, s.Panel.GridPos.Y+s.Panel.GridPos.H)
	}
	var out bytes.Buffer
	err = pageTemplate.Execute(&out, map[string]any{
		"Dashboard": d, "Boxes": boxes, "Width": Width, "Columns": columns, "Cell": cell, "Gap": gap, "Heading": heading,
		"From": span.From.UTC().Format("2006-01-02 15:04:05"), "To": span.To.UTC().Format("15:04:05"),
	})
	if err != nil {
		return nil, 0, fmt.Errorf("drawing %s: %w", d.Title, err)
	}
	return out.Bytes(), heading + pixels(rows) + 2*gap, nil
}

// pixels is how long so many cells are, with the gaps between them.
func pixels(cells int) int { return cells*(cell+gap) - gap }

// Empty tells whether a panel shows nothing.
func (s Shown) Empty() bool {
	for _, l := range s.Panel.Lines(s.Answers) {
		if len(l.Samples) > 0 {
			return false
		}
	}
	return s.Panel.Type != kindRow
}

func (s Shown) box(span Span) (box, error) {
	p := s.Panel
	at := p.GridPos
	b := box{Kind: p.Type, Title: p.Title, Description: p.Description, Column: at.X + 1, Columns: at.W, Row: at.Y + 1, Height: at.H}
	lines := p.Lines(s.Answers)
	var err error
	switch {
	case p.Type == kindRow:
	case p.Type != kindStat && p.Type != kindGraph:
		err = fmt.Errorf("panels of the type %q are not drawn", p.Type)
	case s.Empty():
		b.Kind = "empty"
	case p.Type == kindStat:
		err = b.number(p, lines)
	default:
		err = b.graph(p, lines, span)
	}
	return b, err
}

// number shows the last value of the only line.
func (b *box) number(p *Panel, lines []Line) error {
	if len(lines) != 1 {
		return fmt.Errorf("it has %d numbers, and its place is for one", len(lines))
	}
	value := calcs["lastNotNull"].of(lines[0])
	for _, s := range p.FieldConfig.Defaults.Thresholds.Steps {
		if s.Value == nil || value >= *s.Value {
			b.Color = s.Color
		}
	}
	var err error
	b.Value, err = Format(value, p.FieldConfig.Defaults.Unit)
	return err
}

// graph shows lines, and as much of their legend as there is room.
func (b *box) graph(p *Panel, lines []Line, span Span) error {
	var err error
	if b.Headings, b.Legend, err = p.legend(lines); err != nil {
		return err
	}
	for _, e := range b.Legend {
		if strings.TrimSpace(e.Name) == "" && len(b.Legend) > 1 {
			return fmt.Errorf("of %d lines one has no name", len(b.Legend))
		}
	}
	height := pixels(p.GridPos.H) - panelTitle - padding
	b.LegendHeight = min(legendHeader+legendRow*len(lines), int(legendPart*float64(height)))
	width := (Width-2*gap+gap)*p.GridPos.W/columns - gap - 2*padding
	b.Chart, err = newChart(p, lines, span, width, height-b.LegendHeight)
	return err
}
