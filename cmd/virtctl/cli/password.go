// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"os"
	"strings"

	"golang.org/x/term"
)

// readPassword reads a file, or standard input for "-", without the final line break. On a terminal it prompts for
// one line without echo.
func (f *Factory) readPassword(ctx context.Context, name, prompt string) (string, error) {
	data, err := []byte(nil), error(nil)
	if in, ok := f.Streams.In.(*os.File); ok && name == "-" && term.IsTerminal(int(in.Fd())) {
		data, err = f.ask(ctx, int(in.Fd()), prompt)
	} else {
		data, err = f.ReadFile(name)
	}
	return strings.TrimRight(string(data), "\r\n"), err
}

// ask reads a line from a terminal with echo disabled, and restores the terminal.
func (f *Factory) ask(ctx context.Context, fd int, prompt string) ([]byte, error) {
	before, err := term.GetState(fd)
	if err != nil {
		return nil, fmt.Errorf("reading the state of the terminal: %w", err)
	}
	fmt.Fprint(f.Streams.ErrOut, prompt)
	defer fmt.Fprintln(f.Streams.ErrOut)
	type answer struct {
		line []byte
		err  error
	}
	answers := make(chan answer, 1)
	go func() {
		line, err := term.ReadPassword(fd)
		answers <- answer{line, err}
	}()
	select {
	case a := <-answers:
		return a.line, a.err
	case <-ctx.Done():
		// A pending read cannot be cancelled; the terminal must be restored before the program ends.
		_ = term.Restore(fd, before)
		return nil, context.Cause(ctx)
	}
}
