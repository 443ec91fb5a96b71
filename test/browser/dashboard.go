// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Dashboard runs virtctl dashboard, with more arguments, and returns the address that it prints.
// stop ends it.
func Dashboard(ctx context.Context, virtctl string, args ...string) (url string, stop func() error, err error) {
	cmd := exec.CommandContext(ctx, virtctl, append([]string{"dashboard"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, fmt.Errorf("starting virtctl dashboard: %w", err)
	}
	stop = func() error { return errors.Join(cmd.Process.Signal(syscall.SIGTERM), cmd.Wait()) }
	url, err = bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return "", nil, errors.Join(fmt.Errorf("reading the address of virtctl dashboard: %w", err), stop())
	}
	return strings.TrimSpace(url), stop, nil
}

// Until waits until a JavaScript expression is true. The error contains the text of the page.
func (p *Page) Until(deadline time.Duration, expression string) error {
	var text string
	err := p.Eval(fmt.Sprintf(`(async () => {
		for (const end = Date.now() + %d; Date.now() < end; await new Promise((r) => setTimeout(r, 50))) {
			try { if (%s) return ''; } catch (e) { if (Date.now() + 100 > end) return String(e); }
		}
		return document.body.innerText.slice(0, 2000) || 'nothing';
	})()`, deadline.Milliseconds(), expression), &text)
	if err == nil && text != "" {
		err = fmt.Errorf("%s: not within %s; the page shows\n%s", expression, deadline, text)
	}
	return err
}

// Click clicks the button whose label starts with the given text, as soon as the button exists and is enabled.
func (p *Page) Click(words string) error {
	const find = `[...document.querySelectorAll('dialog[open] button, body:not(:has(dialog[open])) button')].find((b) => !b.disabled && !b.hidden && b.innerText.trim().startsWith(%s))`
	button := fmt.Sprintf(find, strconv.Quote(words))
	if err := p.Until(time.Minute, button); err != nil {
		return err
	}
	return p.Eval("void "+button+".click()", nil)
}
