// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Ready is the content of the ready file.
type Ready struct {
	// URL is the service's, with path /sdk.
	URL string `json:"url"`
	// Thumbprint is the SHA-256 of the serving certificate, as hex pairs with colons.
	Thumbprint string `json:"thumbprint"`
	// CAFile contains the self-signed certificate. It is empty if a certificate was given, because the caller then
	// knows its authority.
	CAFile string `json:"caFile"`
	// ControlURL is that of the test controls, if they listen.
	ControlURL string `json:"controlURL,omitempty"`
}

// write replaces the file atomically.
func (r Ready) write(file string) error {
	content, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("write ready file %s: %w", file, err)
	}
	tmp := file + ".tmp"
	if err := os.WriteFile(tmp, append(content, '\n'), 0o600); err != nil {
		return fmt.Errorf("write ready file: %w", err)
	}
	if err := os.Rename(tmp, file); err != nil {
		return fmt.Errorf("write ready file: %w", err)
	}
	return nil
}

// runFile names the directories of the run, so that the next start can remove the directories of a killed process.
const runFile = "vcenter.run.json"

type runDirs struct {
	Dirs []string `json:"dirs"`
}

// removeLeftovers removes the directories of a run that was killed.
func removeLeftovers(stateDir string) error {
	content, err := os.ReadFile(filepath.Join(stateDir, runFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the directories of the last run: %w", err)
	}
	var run runDirs
	if err := json.Unmarshal(content, &run); err != nil {
		return fmt.Errorf("read the directories of the last run from %s: %w", filepath.Join(stateDir, runFile), err)
	}
	for _, dir := range run.Dirs {
		if err := removeOwn(dir); err != nil {
			return err
		}
	}
	return os.Remove(filepath.Join(stateDir, runFile))
}

// removeOwn removes a directory only if its name is one that a run uses.
func removeOwn(dir string) error {
	for _, pattern := range []string{filesPattern, "govcsim-*"} {
		if ok, err := filepath.Match(pattern, filepath.Base(dir)); err == nil && ok {
			return os.RemoveAll(dir)
		}
	}
	return nil
}

func writeRun(stateDir string, dirs ...string) error {
	content, err := json.Marshal(runDirs{Dirs: dirs})
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(stateDir, runFile), content, 0o600); err != nil {
		return fmt.Errorf("record the directories of the run: %w", err)
	}
	return nil
}
