// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package grafana

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// Span is the time that is drawn, with the distance of samples.
type Span struct {
	From, To time.Time
	Step     time.Duration
}

// margins of a chart, in pixels: its axes.
const (
	marginLeft   = 68
	marginRight  = 10
	marginTop    = 8
	marginBottom = 22
)

// text is one in a chart.
type text struct {
	X, Y float64
	Text string
}

// Chart is what a page draws of lines.
type Chart struct {
	Width, Height                  int
	Left, Right, Top, Bottom       float64
	Values, Times                  []text
	Paths                          []path
	FillOpacity                    float64
	unit                           string
	first, last, step, most, least float64
}

// path is a line: its stroke, what is below it, and points that have no neighbor.
type path struct {
	Color, Stroke, Area string
	Points              []text
}

// newChart draws lines of a unit. Like Grafana it shows a point without neighbors if points are
// "auto", and not if they are "never".
func newChart(p *Panel, lines []Line, span Span, width, height int) (*Chart, error) {
	c := &Chart{
		Width: width, Height: height, Left: marginLeft, Right: float64(width - marginRight), Top: marginTop, Bottom: float64(height - marginBottom),
		FillOpacity: p.FieldConfig.Defaults.Custom.FillOpacity / 100, unit: p.FieldConfig.Defaults.Unit,
		first: float64(span.From.UnixMilli()) / 1000, last: float64(span.To.UnixMilli()) / 1000, step: span.Step.Seconds(),
	}
	top := 0.0
	for _, l := range lines {
		if len(l.Samples) > 0 {
			top = max(top, l.largest())
		}
	}
	if err := c.values(top); err != nil {
		return nil, err
	}
	c.times(span)
	for _, l := range lines {
		c.Paths = append(c.Paths, c.path(l, p.FieldConfig.Defaults.Custom.ShowPoints != "never"))
	}
	return c, nil
}

// values draws the axis of values, from 0, to the first tick that nothing is above.
func (c *Chart) values(top float64) error {
	distance := tick(top, c.unit)
	n := math.Max(1, math.Ceil(top/distance-1e-9))
	c.most = n * distance
	for i := 0.0; i <= n; i++ {
		text, err := Format(i*distance, c.unit)
		if err != nil {
			return err
		}
		c.Values = append(c.Values, c.at(c.first, i*distance, text))
	}
	return nil
}

// tick is the distance of ticks of an axis up to a value: 1, 2 or 5 times a power of ten, for bytes
// a power of two.
func tick(top float64, unit string) float64 {
	const ticks = 4
	if top <= 0 {
		return 1
	}
	rough := top / ticks
	if unit == "bytes" {
		return math.Exp2(math.Ceil(math.Log2(rough)))
	}
	power := math.Pow(10, math.Floor(math.Log10(rough)))
	for _, m := range []float64{1, 2, 5} {
		if m*power >= rough {
			return m * power
		}
	}
	return 10 * power
}

// times draws the axis of time, with a tick every half minute, or minute if there is less room.
func (c *Chart) times(span Span) {
	distance := 30 * time.Second
	if c.Width < 400 {
		distance = time.Minute
	}
	for t := span.From.Truncate(distance).Add(distance); !t.After(span.To); t = t.Add(distance) {
		if at := c.at(float64(t.Unix()), 0, t.UTC().Format("15:04:05")); at.X < c.Right-marginRight {
			c.Times = append(c.Times, at) // another would be cut
		}
	}
}

// at is where a value is at a time.
func (c *Chart) at(t, value float64, words string) text {
	round := func(v float64) float64 { return math.Round(v*10) / 10 }
	return text{
		X:    round(c.Left + (t-c.first)/(c.last-c.first)*(c.Right-c.Left)),
		Y:    round(c.Bottom - (value-c.least)/(c.most-c.least)*(c.Bottom-c.Top)),
		Text: words,
	}
}

// path is a line with its gaps: where a sample is missing.
func (c *Chart) path(l Line, points bool) path {
	p := path{Color: l.Color}
	var stroke, area strings.Builder
	for i := 0; i < len(l.Samples); {
		end := i + 1
		for end < len(l.Samples) && l.Samples[end].At-l.Samples[end-1].At < 1.5*c.step {
			end++
		}
		piece := l.Samples[i:end]
		i = end
		start, last := c.at(piece[0].At, piece[0].Value, ""), c.at(piece[len(piece)-1].At, 0, "")
		if len(piece) == 1 {
			if points {
				p.Points = append(p.Points, start)
			}
			continue
		}
		fmt.Fprintf(&area, "M%v,%v", start.X, c.Bottom)
		for j, s := range piece {
			at, letter := c.at(s.At, s.Value, ""), 'L'
			fmt.Fprintf(&area, "L%v,%v", at.X, at.Y)
			if j == 0 {
				letter = 'M'
			}
			fmt.Fprintf(&stroke, "%c%v,%v", letter, at.X, at.Y)
		}
		fmt.Fprintf(&area, "L%v,%vZ", last.X, c.Bottom)
	}
	p.Stroke, p.Area = stroke.String(), area.String()
	return p
}
