// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

const (
	// barWidth is that of a full bar, in characters.
	barWidth = 30
	// lineStep is after how many percent a line is printed where there is no terminal.
	lineStep = 10
	// lineInterval is how often one is, of what has no end that is known, and barInterval how
	// often a terminal is told.
	lineInterval, barInterval = 10 * time.Second, 200 * time.Millisecond
)

// progress shows how far something has come: as a bar on a terminal, else as lines.
type progress struct {
	out io.Writer
	// bar is the terminal itself, nil where there is none, and columns how wide that is, 0 or nil
	// if it is not known.
	bar     io.Writer
	columns func() int

	mu sync.Mutex
	// doing is what is shown, at so many percent.
	doing   string
	percent int64
	shown   bool
	// width is that of the last state, in characters: the next one covers it.
	width int
	// grownAt is when it was last told how much there is.
	grownAt time.Time
}

// newProgress shows progress on standard output.
func (f *Factory) newProgress() *progress { return progressOn(f.streams.Out) }

// progressOn shows progress on a stream.
func progressOn(out io.Writer) *progress {
	p := &progress{out: out}
	if t, ok := out.(terminal); ok {
		if file, ok := t.out.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
			p.bar, p.columns = file, func() int {
				columns, _, err := term.GetSize(int(file.Fd()))
				if err != nil {
					return 0
				}
				return columns
			}
		}
	}
	return p
}

// at shows that of all bytes some are done.
func (p *progress) at(doing string, done, all int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	percent := int64(100)
	if all > 0 {
		percent = done * 100 / all
	}
	step := int64(1)
	if p.bar == nil {
		step = lineStep
		percent -= percent % lineStep
	}
	if doing == p.doing && max(percent-p.percent, p.percent-percent) < step {
		return
	}
	if doing != p.doing {
		p.finish()
	}
	p.doing, p.percent = doing, percent
	if p.bar == nil {
		fmt.Fprintf(p.out, "%s: %d%% of %s\n", doing, percent, amount(all))
		return
	}
	full := int(percent) * barWidth / 100
	p.shown = true
	fmt.Fprintf(p.bar, "\r%-9s [%s%s] %3d%% of %s", doing, strings.Repeat("=", full), strings.Repeat(" ", barWidth-full), percent, amount(all))
}

// state shows what something does, with how far all of it is on a terminal, and returns it. Where
// there is none it is a line, unless it was told.
func (p *progress) state(doing, told, all string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.bar != nil:
		p.line(doing, " ("+all+")")
	case doing != told:
		fmt.Fprintln(p.out, doing)
	}
	return doing
}

// far shows how far all is on a terminal; elsewhere what is said of each tells it.
func (p *progress) far(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		p.line(fmt.Sprintf(format, args...), "")
	}
}

// grown shows how many bytes there are of what has no end that is known.
func (p *progress) grown(doing string, bytes int64, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	interval := lineInterval
	if p.bar != nil {
		interval = barInterval
	}
	if p.grownAt.IsZero() {
		p.grownAt = now
	}
	if now.Sub(p.grownAt) < interval {
		return
	}
	p.grownAt = now
	if p.bar != nil {
		p.line(doing, ": "+amount(bytes))
		return
	}
	fmt.Fprintf(p.out, "%s: %s\n", doing, amount(bytes))
}

// line replaces the line of the terminal. One that is too long would begin another one each time:
// what something does is cut, and what changes stays.
func (p *progress) line(doing, changes string) {
	line, end := []rune(cell(doing)), []rune(cell(changes))
	if p.columns != nil {
		// The last column is left: a full line makes some terminals begin another one.
		if room := p.columns() - 1 - len(end); room > 0 && len(line) > room {
			line = append(line[:room-1], '…')
		}
	}
	line = append(line, end...)
	fmt.Fprintf(p.bar, "\r%-*s", p.width, string(line))
	p.shown, p.width = true, len(line)
}

// say prints a line of its own.
func (p *progress) say(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.finish()
	fmt.Fprintf(p.out, format+"\n", args...)
}

// end leaves the line of the bar.
func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.finish()
}

func (p *progress) finish() {
	if p.shown {
		fmt.Fprintln(p.bar)
		p.shown, p.doing, p.width = false, "", 0
	}
}

// amount is a number of bytes for people.
func amount(bytes int64) string {
	value, unit := float64(bytes), 0
	units := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	for value >= 1024 && unit < len(units)-1 {
		value /= 1024
		unit++
	}
	if unit == 0 {
		return fmt.Sprintf("%d B", bytes)
	}
	return fmt.Sprintf("%.1f %s", value, units[unit])
}
