// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"
	"sigs.k8s.io/yaml"
)

const (
	outputTable = "table"
	outputYAML  = "yaml"
	outputJSON  = "json"
)

// validateOutput refuses a format that is not among those allowed.
func validateOutput(format string, allowed ...string) error {
	if slices.Contains(allowed, format) {
		return nil
	}
	return fmt.Errorf("--output %q is not supported: use one of %s", format, strings.Join(allowed, ", "))
}

// printObject writes obj as YAML or JSON.
func printObject(out io.Writer, format string, obj any) error {
	data, err := json.MarshalIndent(obj, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the output: %w", err)
	}
	data = append(data, '\n')
	if format == outputYAML {
		if data, err = yaml.JSONToYAML(data); err != nil {
			return fmt.Errorf("encoding the output: %w", err)
		}
	}
	_, err = out.Write(data)
	return err
}

// standardOutput as the name of a file stands for it.
const standardOutput = "-"

// plainOut is standard output for what is no text.
func (f *Factory) plainOut() io.Writer {
	if t, ok := f.streams.Out.(terminal); ok {
		return t.out
	}
	return f.streams.Out
}

func isTerminal(out io.Writer) bool {
	o, ok := out.(*os.File)
	return ok && term.IsTerminal(int(o.Fd()))
}
