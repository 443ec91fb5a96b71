// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// ErrMissing is returned when Chromium is not installed on this machine.
var ErrMissing = errors.New("there is no Chromium: hack/install-chromium.sh installs one")

// names are the program names of Chromium.
var names = []string{"chromium", "chromium-browser", "google-chrome"}

// Find returns the path of a Chromium, or ErrMissing.
func Find() (string, error) {
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", ErrMissing
}

// Browser is a running Chromium.
type Browser struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	profile string
	// over is closed when Chromium must end or has ended. ended is closed when its last message was read.
	over, ended chan struct{}
	overOnce    sync.Once

	mu      sync.Mutex
	last    int
	waiting map[int]chan answer
	pages   map[string]*Page
}

// message is a message of either side, and answer is the answer to a call.
type message struct {
	ID        int             `json:"id,omitempty"`
	SessionID string          `json:"sessionId,omitempty"`
	Method    string          `json:"method,omitempty"`
	Params    json.RawMessage `json:"params,omitempty"`
	Result    json.RawMessage `json:"result,omitempty"`
	Error     *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

type answer struct {
	result json.RawMessage
	err    error
}

// Start runs a Chromium until ctx is done or Close is called.
func Start(ctx context.Context) (*Browser, error) {
	path, err := Find()
	if err != nil {
		return nil, err
	}
	profile, err := os.MkdirTemp("", "slipway-browser-")
	if err != nil {
		return nil, err
	}
	b := &Browser{profile: profile, over: make(chan struct{}), ended: make(chan struct{}), waiting: map[int]chan answer{}, pages: map[string]*Page{}}
	if err := b.run(path); err != nil {
		return nil, errors.Join(fmt.Errorf("starting %s: %w", path, err), os.RemoveAll(profile))
	}
	context.AfterFunc(ctx, b.kill)
	return b, nil
}

// run starts the program, whose pipes are its file descriptors 3 and 4.
func (b *Browser) run(path string) error {
	theirIn, in, err := os.Pipe()
	if err != nil {
		return err
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		return errors.Join(err, theirIn.Close(), in.Close())
	}
	b.cmd = exec.Command(path, "--headless=new", "--remote-debugging-pipe", "--user-data-dir="+b.profile,
		"--no-first-run", "--no-default-browser-check", "--disable-gpu", "--disable-dev-shm-usage", "--disable-extensions",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
		"--font-render-hinting=none", "--no-sandbox", // its sandbox needs more privileges than test containers have
		"about:blank")
	b.cmd.ExtraFiles = []*os.File{theirIn, theirOut}
	b.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // it has children
	err = b.cmd.Start()
	if err := errors.Join(err, theirIn.Close(), theirOut.Close()); err != nil {
		return errors.Join(err, in.Close(), out.Close())
	}
	b.in = in
	go b.listen(out)
	return nil
}

// kill ends Chromium with its children, once.
func (b *Browser) kill() {
	b.overOnce.Do(func() {
		close(b.over)
		_ = syscall.Kill(-b.cmd.Process.Pid, syscall.SIGKILL)
	})
}

// Close ends Chromium and removes its profile.
func (b *Browser) Close() error {
	b.kill()
	_ = b.in.Close()
	<-b.ended
	_ = b.cmd.Wait() // it was killed
	return os.RemoveAll(b.profile)
}

// listen reads messages until Chromium ends: JSON with a zero byte after each message.
func (b *Browser) listen(out io.ReadCloser) {
	defer close(b.ended)
	defer func() { _ = out.Close() }()
	reader := bufio.NewReaderSize(out, 1<<16)
	for {
		data, err := reader.ReadBytes(0)
		if err != nil {
			b.kill()
			return
		}
		var m message
		if json.Unmarshal(data[:len(data)-1], &m) == nil {
			b.take(&m)
		}
	}
}

func (b *Browser) take(m *message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if m.ID == 0 {
		if p := b.pages[m.SessionID]; p != nil {
			p.event(m)
		}
		return
	}
	a := answer{result: m.Result}
	if m.Error != nil {
		a.err = errors.New(m.Error.Message)
	}
	if c := b.waiting[m.ID]; c != nil {
		delete(b.waiting, m.ID)
		c <- a
	}
}

// call calls a method of the protocol, in the session of a page or of the browser.
func (b *Browser) call(session, method string, params, result any) error {
	data, err := json.Marshal(params)
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	c := make(chan answer, 1)
	b.mu.Lock()
	b.last++
	id := b.last
	b.waiting[id] = c
	data, err = json.Marshal(message{ID: id, SessionID: session, Method: method, Params: data})
	if err == nil {
		_, err = b.in.Write(append(data, 0))
	}
	b.mu.Unlock()
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	select {
	case <-b.over:
		return fmt.Errorf("%s: the browser has ended", method)
	case a := <-c:
		if a.err != nil {
			return fmt.Errorf("%s: %w", method, a.err)
		}
		if result == nil {
			return nil
		}
		return json.Unmarshal(a.result, result)
	}
}
