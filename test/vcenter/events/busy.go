// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/slipway-dev/slipway/test/vcenter/strict"
)

// Ask makes a virtual machine ask a question, which blocks it until AnswerVM: now, or
// at its next power-on, whose task then waits for the answer.
func (e *Events) Ask(id string, atPowerOn bool, text string, choices ...string) error {
	vm, err := e.vm(id)
	if err != nil {
		return err
	}
	if text == "" || len(choices) == 0 {
		return errors.New("text, choice: a question and at least one choice are needed")
	}
	if atPowerOn {
		e.gate.AskAtPowerOn(vm.Self, text, choices...)
		return nil
	}
	e.gate.Ask(strict.Acting(e.registry), vm, text, choices...)
	return nil
}

// Disable makes methods of a virtual machine answer MethodDisabled. Without methods all are enabled.
func (e *Events) Disable(id string, methods ...string) error {
	vm, err := e.vm(id)
	if err != nil {
		return err
	}
	e.gate.Disable(strict.Acting(e.registry), vm, methods...)
	return nil
}

// SetImportTime sets the duration of deployments from the library after the virtual machine is in the inventory. The
// VM's methods are disabled during that time.
func (e *Events) SetImportTime(d time.Duration) { e.gate.SetImportTime(d) }

// LimitTasks limits the number of concurrent tasks on a host. 0 means no limit.
func (e *Events) LimitTasks(perHost int) { e.gate.LimitTasks(perHost) }

func (e *Events) ask(q url.Values) (any, error) {
	return nil, e.Ask(q.Get("vm"), q.Get("at") == "power-on", q.Get("text"), q["choice"]...)
}

func (e *Events) disable(q url.Values) (any, error) {
	return nil, e.Disable(q.Get("vm"), strings.FieldsFunc(q.Get("methods"), func(r rune) bool { return r == ',' })...)
}

func (e *Events) setImportTime(q url.Values) (any, error) {
	n, err := number(q, "ms")
	e.SetImportTime(time.Duration(n) * time.Millisecond)
	return n, err
}

func (e *Events) limitTasks(q url.Values) (any, error) {
	n, err := number(q, "perHost")
	if err == nil {
		e.LimitTasks(n)
	}
	return n, err
}

func number(q url.Values, key string) (int, error) {
	n, err := strconv.Atoi(q.Get(key))
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%s: %q: must be a number that is not negative", key, q.Get(key))
	}
	return n, nil
}
