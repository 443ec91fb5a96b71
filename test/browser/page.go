// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// Page is a tab. Its methods are called by one goroutine.
type Page struct {
	browser *Browser
	session string

	// State that is protected by the lock of the browser.
	requests, complaints []string
}

// values are the parameters of a call.
type values map[string]any

// Open opens a page with a size in pixels, a scale, and the light or dark color scheme.
func (b *Browser) Open(width, height int, scale float64, dark bool) (*Page, error) {
	var target struct {
		TargetID string `json:"targetId"`
	}
	if err := b.call("", "Target.createTarget", values{"url": "about:blank"}, &target); err != nil {
		return nil, err
	}
	var attached struct {
		SessionID string `json:"sessionId"`
	}
	if err := b.call("", "Target.attachToTarget", values{"targetId": target.TargetID, "flatten": true}, &attached); err != nil {
		return nil, err
	}
	p := &Page{browser: b, session: attached.SessionID}
	b.mu.Lock()
	b.pages[p.session] = p
	b.mu.Unlock()
	for _, domain := range []string{"Page", "Runtime", "Network", "Log"} {
		if err := p.call(domain+".enable", values{}, nil); err != nil {
			return nil, err
		}
	}
	if err := p.call("Emulation.setDeviceMetricsOverride", values{"width": width, "height": height, "deviceScaleFactor": scale, "mobile": false}, nil); err != nil {
		return nil, err
	}
	return p, p.Dark(dark)
}

// Dark switches the page's preferred color scheme between dark and light.
func (p *Page) Dark(dark bool) error {
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	// Animations are disabled in pictures.
	return p.call("Emulation.setEmulatedMedia", values{"features": []values{
		{"name": "prefers-color-scheme", "value": scheme}, {"name": "prefers-reduced-motion", "value": "reduce"},
	}}, nil)
}

// Go opens an address.
func (p *Page) Go(url string) error {
	var got struct {
		ErrorText string `json:"errorText"`
	}
	if err := p.call("Page.navigate", values{"url": url}, &got); err != nil {
		return err
	}
	if got.ErrorText != "" {
		return fmt.Errorf("opening %s: %s", url, got.ErrorText)
	}
	return nil
}

// Reload reloads the page and returns when the old document no longer exists.
func (p *Page) Reload(ctx context.Context) error {
	const origin = "performance.timeOrigin"
	var before, now float64
	if err := p.Eval(origin, &before); err != nil {
		return err
	}
	if err := p.call("Page.reload", values{}, nil); err != nil {
		return err
	}
	return wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		// Between the two documents there is no page to evaluate.
		return p.Eval(origin, &now) == nil && now != before, nil
	})
}

// Eval puts the value of a JavaScript expression, which is awaited, into result, if that is not nil.
func (p *Page) Eval(expression string, result any) error {
	var got struct {
		Result struct {
			Value json.RawMessage `json:"value"`
		} `json:"result"`
		ExceptionDetails *struct {
			Exception struct {
				Description string `json:"description"`
			} `json:"exception"`
		} `json:"exceptionDetails"`
	}
	err := p.call("Runtime.evaluate", values{"expression": expression, "awaitPromise": true, "returnByValue": true}, &got)
	switch {
	case err != nil:
		return err
	case got.ExceptionDetails != nil:
		return fmt.Errorf("%s: %s", expression, got.ExceptionDetails.Exception.Description)
	case result == nil:
		return nil
	case len(got.Result.Value) == 0:
		return fmt.Errorf("%s has no value", expression)
	}
	return json.Unmarshal(got.Result.Value, result)
}

// Key presses a key, by its name as scripts see it.
func (p *Page) Key(key string) error {
	down := values{"type": "keyDown", "key": key}
	if len(key) == 1 {
		down["text"] = key
	}
	switch key { // the browser identifies keys that it handles itself by their code
	case "Enter":
		down["text"], down["windowsVirtualKeyCode"] = "\r", 13
	case "Escape":
		down["code"], down["windowsVirtualKeyCode"] = key, 27
	}
	return errors.Join(p.call("Input.dispatchKeyEvent", down, nil), p.call("Input.dispatchKeyEvent", values{"type": "keyUp", "key": key}, nil))
}

// Picture returns a PNG of the visible part.
func (p *Page) Picture() ([]byte, error) {
	var got struct {
		Data []byte `json:"data"`
	}
	err := p.call("Page.captureScreenshot", values{"format": "png"}, &got)
	return got.Data, err
}

// Requests returns the addresses that the page has requested so far.
func (p *Page) Requests() []string {
	p.browser.mu.Lock()
	defer p.browser.mu.Unlock()
	return slices.Clone(p.requests)
}

// Complaints returns the exceptions of scripts and the logged errors so far.
func (p *Page) Complaints() []string {
	p.browser.mu.Lock()
	defer p.browser.mu.Unlock()
	return slices.Clone(p.complaints)
}

func (p *Page) call(method string, params values, result any) error {
	return p.browser.call(p.session, method, params, result)
}

// event stores relevant events. The caller holds the lock of the browser.
func (p *Page) event(m *message) {
	var e struct {
		Request struct {
			URL string `json:"url"`
		} `json:"request"`
		Entry struct {
			Level, Text, URL string
		} `json:"entry"`
		ExceptionDetails struct {
			Text      string `json:"text"`
			Exception struct {
				Description string `json:"description"`
			} `json:"exception"`
		} `json:"exceptionDetails"`
	}
	if json.Unmarshal(m.Params, &e) != nil {
		return
	}
	switch m.Method {
	case "Network.requestWillBeSent":
		p.requests = append(p.requests, e.Request.URL)
	case "Runtime.exceptionThrown":
		p.complaints = append(p.complaints, e.ExceptionDetails.Text+" "+e.ExceptionDetails.Exception.Description)
	case "Log.entryAdded":
		if e.Entry.Level == "error" {
			p.complaints = append(p.complaints, e.Entry.Text+" "+e.Entry.URL)
		}
	}
}
