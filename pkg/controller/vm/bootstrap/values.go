// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/slipway-dev/slipway/pkg/apis/bounds"
	"github.com/slipway-dev/slipway/pkg/provider"
)

const (
	// MaxNetworkConfig leaves room for keys in the metadata that it becomes a part of, in bytes.
	MaxNetworkConfig = 16 << 10
	// MaxAnswerFile is what VMware documents for the raw data of cloud-init in a guest
	// customization, in bytes; of answer files it says nothing.
	MaxAnswerFile = 512 << 10
	// maxLine is the longest password of Windows, in bytes.
	maxLine = 127
)

// guestInfoValue is one that a guest can be given.
func guestInfoValue(raw []byte) (value []byte, wrong string) {
	if _, _, err := provider.EncodeGuestInfo(raw); err != nil {
		return nil, "is too long: " + err.Error()
	}
	return raw, ""
}

// networkConfig is cloud-init's network configuration in JSON. It may be below a key
// network, as where cloud-init reads it from files; its data source for VMware knows none.
func networkConfig(raw []byte) (value []byte, wrong string) {
	if len(raw) > MaxNetworkConfig {
		return nil, fmt.Sprintf("has %d bytes, and may have %d", len(raw), MaxNetworkConfig)
	}
	var config map[string]any
	if err := yaml.Unmarshal(raw, &config); err != nil || config == nil {
		return nil, "is no mapping in YAML"
	}
	if inner, ok := config["network"].(map[string]any); ok && len(config) == 1 {
		config = inner
	}
	if v, ok := config["version"].(float64); !ok || v != 1 && v != 2 {
		return nil, "is no network configuration of cloud-init: its version must be 1 or 2"
	}
	value, err := json.Marshal(config)
	if err != nil {
		return nil, "cannot be written in JSON"
	}
	return value, ""
}

// ignitionConfig is a configuration for Ignition.
func ignitionConfig(raw []byte) (value []byte, wrong string) {
	var config struct {
		Ignition struct {
			Version string `json:"version"`
		} `json:"ignition"`
	}
	switch err := json.Unmarshal(raw, &config); {
	case err != nil:
		return nil, "is no JSON: translate a Butane configuration with butane"
	case config.Ignition.Version == "":
		return nil, "is no configuration for Ignition: it has no ignition.version"
	}
	return guestInfoValue(raw)
}

// answerFile is text that XML can carry, with the line ends that it has there.
func answerFile(raw []byte) (value []byte, wrong string) {
	value = bytes.ReplaceAll(bytes.TrimPrefix(raw, []byte("\ufeff")), []byte("\r\n"), []byte("\n"))
	switch {
	case len(bytes.TrimSpace(value)) == 0:
		return nil, "is empty"
	case len(value) > MaxAnswerFile:
		return nil, fmt.Sprintf("has %d bytes, and may have %d", len(value), MaxAnswerFile)
	case bounds.Text(string(value), true) != "":
		return nil, "has control characters other than tabulators and line feeds, or is no UTF-8"
	}
	return value, ""
}

// oneLine is a password or a key; line feeds at its end are none of it.
func oneLine(raw []byte) (value []byte, wrong string) {
	text := strings.TrimRight(string(raw), "\r\n")
	switch {
	case text == "":
		return nil, "is empty"
	case len(text) > maxLine:
		return nil, fmt.Sprintf("is longer than %d bytes", maxLine)
	case bounds.Text(text, false) != "":
		return nil, "has control characters, or is no UTF-8"
	}
	return []byte(text), ""
}
