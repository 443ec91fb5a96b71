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
	// MaxNetworkConfig is the maximum size of a network configuration, in bytes. It leaves room for other keys in the
	// metadata that contains it.
	MaxNetworkConfig = 16 << 10
	// MaxAnswerFile is the maximum size of an answer file, in bytes. VMware documents this limit for the raw data of
	// cloud-init in a guest customization, and no limit for answer files.
	MaxAnswerFile = 512 << 10
	// maxLine is the length of the longest Windows password, in bytes.
	maxLine = 127
)

// guestInfoValue checks a value of a guestinfo variable.
func guestInfoValue(raw []byte) (value []byte, wrong string) {
	if _, _, err := provider.EncodeGuestInfo(raw); err != nil {
		return nil, "is too long: " + err.Error()
	}
	return raw, ""
}

// networkConfig converts cloud-init's network configuration to JSON. The configuration may be below the key network, as
// in files that cloud-init reads. The key is removed, because cloud-init's VMware data source does not support it.
func networkConfig(raw []byte) (value []byte, wrong string) {
	if len(raw) > MaxNetworkConfig {
		return nil, fmt.Sprintf("has %d bytes, the maximum is %d", len(raw), MaxNetworkConfig)
	}
	var config map[string]any
	if err := yaml.Unmarshal(raw, &config); err != nil || config == nil {
		return nil, "is not a YAML mapping"
	}
	if inner, ok := config["network"].(map[string]any); ok && len(config) == 1 {
		config = inner
	}
	if v, ok := config["version"].(float64); !ok || v != 1 && v != 2 {
		return nil, "is not a cloud-init network configuration: its version must be 1 or 2"
	}
	value, err := json.Marshal(config)
	if err != nil {
		return nil, "cannot be converted to JSON"
	}
	return value, ""
}

// ignitionConfig checks an Ignition configuration.
func ignitionConfig(raw []byte) (value []byte, wrong string) {
	var config struct {
		Ignition struct {
			Version string `json:"version"`
		} `json:"ignition"`
	}
	switch err := json.Unmarshal(raw, &config); {
	case err != nil:
		return nil, "is not JSON: convert a Butane configuration with butane"
	case config.Ignition.Version == "":
		return nil, "is not an Ignition configuration: it has no ignition.version"
	}
	return guestInfoValue(raw)
}

// answerFile checks that a value can be part of XML, and converts its line ends.
func answerFile(raw []byte) (value []byte, wrong string) {
	value = bytes.ReplaceAll(bytes.TrimPrefix(raw, []byte("\ufeff")), []byte("\r\n"), []byte("\n"))
	switch {
	case len(bytes.TrimSpace(value)) == 0:
		return nil, "is empty"
	case len(value) > MaxAnswerFile:
		return nil, fmt.Sprintf("has %d bytes, the maximum is %d", len(value), MaxAnswerFile)
	case bounds.Text(string(value), true) != "":
		return nil, "contains control characters other than tabs and line feeds, or is not UTF-8"
	}
	return value, ""
}

// oneLine checks a password or a key, and removes line feeds at its end.
func oneLine(raw []byte) (value []byte, wrong string) {
	text := strings.TrimRight(string(raw), "\r\n")
	switch {
	case text == "":
		return nil, "is empty"
	case len(text) > maxLine:
		return nil, fmt.Sprintf("is longer than %d bytes", maxLine)
	case bounds.Text(text, false) != "":
		return nil, "contains control characters, or is not UTF-8"
	}
	return []byte(text), ""
}
