// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Command grafana writes the dashboards of Grafana into a directory: what each shows is in one
// file here, as a list of panels, and how that looks is the same for all.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// dashboards are all, by the names of their files.
func dashboards() map[string]dashboard {
	return map[string]dashboard{"fleet": fleet(), "vcenter": vcenter(), "queue": queue(), "api": api()}
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: grafana DIRECTORY")
		os.Exit(2)
	}
	for name, d := range dashboards() {
		text, err := d.text()
		if err == nil {
			err = os.WriteFile(filepath.Join(os.Args[1], name+".json"), text, 0o644)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

// text is the dashboard as Grafana imports it.
func (d dashboard) text() ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(d.model()); err != nil {
		return nil, fmt.Errorf("writing the dashboard %q: %w", d.title, err)
	}
	return out.Bytes(), nil
}
