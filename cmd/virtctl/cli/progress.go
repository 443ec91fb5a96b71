// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

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

// Progress shows how far something has come: as a bar on a terminal, else as lines.
type Progress struct {
	Out io.Writer
	// Bar is the terminal itself, nil where there is none, and Columns how wide that is, 0 or nil
	// if it is not known.
	Bar     io.Writer
	Columns func() int

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

// NewProgress shows progress on standard output.
func (f *Factory) NewProgress() *Progress { return ProgressOn(f.Streams.Out) }

// ProgressOn shows progress on a stream.
func ProgressOn(out io.Writer) *Progress {
	p := &Progress{Out: out}
	if t, ok := out.(Terminal); ok {
		if file, ok := t.Out.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
			p.Bar, p.Columns = file, func() int {
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

// At shows that of all bytes some are done.
func (p *Progress) At(doing string, done, all int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	percent := int64(100)
	if all > 0 {
		percent = done * 100 / all
	}
	step := int64(1)
	if p.Bar == nil {
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
	if p.Bar == nil {
		fmt.Fprintf(p.Out, "%s: %d%% of %s\n", doing, percent, Amount(all))
		return
	}
	full := int(percent) * barWidth / 100
	p.shown = true
	fmt.Fprintf(p.Bar, "\r%-9s [%s%s] %3d%% of %s", doing, strings.Repeat("=", full), strings.Repeat(" ", barWidth-full), percent, Amount(all))
}

// State shows what something does, with how far all of it is on a terminal, and returns it. Where
// there is none it is a line, unless it was told.
func (p *Progress) State(doing, told, all string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.Bar != nil:
		p.line(doing, " ("+all+")")
	case doing != told:
		fmt.Fprintln(p.Out, doing)
	}
	return doing
}

// Far shows how far all is on a terminal; elsewhere what is said of each tells it.
func (p *Progress) Far(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.Bar != nil {
		p.line(fmt.Sprintf(format, args...), "")
	}
}

// Grown shows how many bytes there are of what has no end that is known.
func (p *Progress) Grown(doing string, bytes int64, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	interval := lineInterval
	if p.Bar != nil {
		interval = barInterval
	}
	if p.grownAt.IsZero() {
		p.grownAt = now
	}
	if now.Sub(p.grownAt) < interval {
		return
	}
	p.grownAt = now
	if p.Bar != nil {
		p.line(doing, ": "+Amount(bytes))
		return
	}
	fmt.Fprintf(p.Out, "%s: %s\n", doing, Amount(bytes))
}

// line replaces the line of the terminal. One that is too long would begin another one each time:
// what something does is cut, and what changes stays.
func (p *Progress) line(doing, changes string) {
	line, end := []rune(Cell(doing)), []rune(Cell(changes))
	if p.Columns != nil {
		// The last column is left: a full line makes some terminals begin another one.
		if room := p.Columns() - 1 - len(end); room > 0 && len(line) > room {
			line = append(line[:room-1], '…')
		}
	}
	line = append(line, end...)
	fmt.Fprintf(p.Bar, "\r%-*s", p.width, string(line))
	p.shown, p.width = true, len(line)
}

// Say prints a line of its own.
func (p *Progress) Say(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.finish()
	fmt.Fprintf(p.Out, format+"\n", args...)
}

// End leaves the line of the bar.
func (p *Progress) End() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.finish()
}

func (p *Progress) finish() {
	if p.shown {
		fmt.Fprintln(p.Bar)
		p.shown, p.doing, p.width = false, "", 0
	}
}

// Amount is a number of bytes for people.
func Amount(bytes int64) string {
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
