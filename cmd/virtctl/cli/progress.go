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
	// barWidth is the width of a full bar, in characters.
	barWidth = 30
	// lineStep is the number of percent between two lines if the output is not a terminal.
	lineStep = 10
	// lineInterval is the time between two lines if the total is unknown. barInterval is the time between two
	// updates of a terminal.
	lineInterval, barInterval = 10 * time.Second, 200 * time.Millisecond
)

// Progress shows the progress of an operation, as a bar on a terminal and otherwise as lines.
type Progress struct {
	Out io.Writer
	// Bar is the terminal, nil if there is none. Columns returns its width; it is nil or returns 0 if the width is
	// unknown.
	Bar     io.Writer
	Columns func() int

	mu sync.Mutex
	// doing and percent are the state shown.
	doing   string
	percent int64
	shown   bool
	// width is the width of the last state in characters, which the next one must overwrite.
	width int
	// grownAt is the time of the last report with an unknown total.
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

// At shows the progress by bytes done.
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

// State shows the state of one object and returns it. A terminal also shows all, the overall progress. Without a
// terminal it prints a line if the state differs from the given one.
func (p *Progress) State(doing, shown, all string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.Bar != nil:
		p.line(doing, " ("+all+")")
	case doing != shown:
		fmt.Fprintln(p.Out, doing)
	}
	return doing
}

// Far shows the overall progress on a terminal.
func (p *Progress) Far(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.Bar != nil {
		p.line(fmt.Sprintf(format, args...), "")
	}
}

// Grown shows the number of bytes so far if the total is unknown.
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

// line replaces the terminal's current line. It truncates the description so that the line does not wrap.
func (p *Progress) line(doing, changes string) {
	line, end := []rune(Cell(doing)), []rune(Cell(changes))
	if p.Columns != nil {
		// Leave the last column empty: some terminals wrap a full line.
		if room := p.Columns() - 1 - len(end); room > 0 && len(line) > room {
			line = append(line[:room-1], '…')
		}
	}
	line = append(line, end...)
	fmt.Fprintf(p.Bar, "\r%-*s", p.width, string(line))
	p.shown, p.width = true, len(line)
}

// Say prints a separate line.
func (p *Progress) Say(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.finish()
	fmt.Fprintf(p.Out, format+"\n", args...)
}

// End moves the cursor below the bar.
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

// Amount formats a number of bytes.
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
