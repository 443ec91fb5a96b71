// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package root_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/slipway-dev/slipway/cmd/virtctl/cli"
)

// newTerminal is a terminal of the kernel's, and what a person has of it: keyboard and screen. Both
// are nil where there are none.
func newTerminal(t *testing.T) (program, person *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Logf("NOT RUN: no terminals here: %v", err)
		return nil, nil
	}
	t.Cleanup(func() { _ = person.Close() })
	if err := unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = program.Close() })
	return program, person
}

// shows reports whether a terminal echoes input.
func shows(t *testing.T, file *os.File) bool {
	t.Helper()
	state, err := unix.IoctlGetTermios(int(file.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return state.Lflag&unix.ECHO != 0
}

// passwordAsked begins to read a password from a terminal, and returns when that shows nothing any more.
func passwordAsked(ctx context.Context, t *testing.T, program *os.File) (password <-chan string, failed <-chan error) {
	t.Helper()
	read, write := io.Pipe()
	f := cli.NewFactory(nil, genericiooptions.IOStreams{In: program, ErrOut: write})
	passwords, errs := make(chan string, 1), make(chan error, 1)
	go func() {
		o := cli.VCenterFlags{URL: "vc.example.com", Username: "slipway@vsphere.local", PasswordFile: "-"}
		server, err := o.Server(ctx, f)
		if err != nil {
			errs <- err
			return
		}
		is, _ := server.User.Password()
		passwords <- is
	}()
	prompt := bufio.NewReader(read)
	if said, err := prompt.ReadString(':'); err != nil || said != "Password of slipway@vsphere.local at vc.example.com:" {
		t.Fatalf("the prompt is %q (%v)", said, err)
	}
	go func() { _, _ = io.Copy(io.Discard, prompt) }()
	err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, time.Minute, true, func(context.Context) (bool, error) { return !shows(t, program), nil })
	if err != nil {
		t.Fatalf("the terminal shows what is typed: %v", err)
	}
	return passwords, errs
}

func TestPassword_IsReadFromATerminalWithoutEcho(t *testing.T) {
	program, person := newTerminal(t)
	if program == nil {
		return
	}
	password, failed := passwordAsked(t.Context(), t, program)
	if _, err := person.WriteString("secret\nmore"); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-failed:
		t.Fatal(err)
	case got := <-password:
		if got != "secret" {
			t.Errorf("the password is %q", got)
		}
	}
	if !shows(t, program) {
		t.Error("the terminal shows nothing afterwards")
	}
	if _, err := program.WriteString("|"); err != nil {
		t.Fatal(err)
	}
	if screen, err := bufio.NewReader(person).ReadString('|'); err != nil || strings.Contains(screen, "secret") {
		t.Errorf("the screen shows %q (%v)", screen, err)
	}
}

func TestPassword_RestoresEchoWhenInterrupted(t *testing.T) {
	program, _ := newTerminal(t)
	if program == nil {
		return
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, failed := passwordAsked(ctx, t, program)
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) || !shows(t, program) {
		t.Errorf("%v, and the terminal shows what is typed: %v", err, shows(t, program))
	}
}
